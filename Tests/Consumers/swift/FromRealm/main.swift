// The example of docs/from-realm.md as it stands there (scripts/readme-example.py), in a folder with app.realm; what it
// prints is compared by scripts/check-consumers.sh.

// Block: import Foundation
