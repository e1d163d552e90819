// The example of docs/from-realm.md as it stands there (Tests/Consumers/readme_example.py), in a folder with app.realm;
// Tests/Consumers/check.sh compares what it prints.

// Block: import Foundation
