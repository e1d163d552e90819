// The program of docs/tutorial-swift.md as it stands there (scripts/readme-example.py). What it prints is compared with
// what the document says by scripts/check-consumers.sh.

// Block: import Foundation
// Block: let file = URL(
// Block: for book in ursula.books
// Block: struct ChangeOfMind
// Block: let unread =
// Block: func titles(of books
