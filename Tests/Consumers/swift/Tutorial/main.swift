// The program of docs/tutorial-swift.md as it stands there (Tests/Consumers/readme_example.py).
// Tests/Consumers/check.sh compares what it prints with what the document says.

// Block: import Foundation
// Block: let file = URL(
// Block: for book in ursula.books
// Block: struct ChangeOfMind
// Block: let unread =
// Block: func titles(of books
