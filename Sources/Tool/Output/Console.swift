/// Standard output and error: lines that are written at once, and what happens when they cannot be.
///
/// A command ends where its output cannot be written. A shell goes on with its next statement: what follows of the
/// present one is dropped, as after Ctrl-C.
import CMotteShim
import MotteExchange
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum Console {
    private struct State {
        var isShell = false
        /// Why the present statement's output cannot be written; 0: it can.
        var outputError: Int32 = 0
        /// Which stands behind standard output while a statement runs.
        var file: OutputFile?
    }

    private static let state = Locked(ofProcess: State())

    static var isShell: Bool {
        get { state.withLock { $0.isShell } }
        set { state.withLock { $0.isShell = newValue } }
    }

    /// Before each statement of a shell.
    static func beginStatement() {
        motte_shim_clear_interruption()
        state.withLock { $0.outputError = 0 }
    }

    static var isInterrupted: Bool { motte_shim_is_interrupted() != 0 || state.withLock { $0.outputError } != 0 }

    /// Where lines of the present statement could not be written; that nobody reads on is not worth a word.
    static func checkOutput() throws(DatabaseError) {
        let number = state.withLock { $0.outputError }
        if number == EPIPE { throw interruption }
        guard number != 0 else { return }
        throw DatabaseError(
            .inputOutput, "cannot write to standard output: \(String(cString: strerror(number)))", systemError: number)
    }

    fileprivate static func noteFailure() {
        let number = errno
        state.withLock {
            $0.outputError = number
            $0.file?.noteFailure()
        }
    }

    /// A statement of a shell writes to a file, until nil comes.
    static func setFile(_ file: OutputFile?) { state.withLock { $0.file = file } }

    fileprivate static func noteWritten(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.file?.noteWritten(bytes) }
    }

    /// Thrown where a statement of a shell is to end early; not worth a word.
    static let interruption = DatabaseError(.callback, "interrupted")

    static func checkInterruption() throws(DatabaseError) {
        if motte_shim_is_interrupted() != 0 { throw interruption }
    }

    /// While there is something that a command has to clear up, it is not to be ended; `checkInterruption` throws. A
    /// shell is never ended.
    static func catchEnd(_ isWanted: Bool) {
        if !isShell { motte_shim_catch_end(isWanted ? 1 : 0) }
    }

    static func write(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        if isShell { try checkInterruption() }
        if writeAll(bytes, to: 1) { return }
        guard isShell else { endWithoutOutput() }
        noteFailure()
        try checkOutput()
    }
}

/// A line that cannot be written ends the command: who reads a part of the output must not take it for all of it.
func printLine(_ line: String) {
    guard !writeAll(line + "\n", to: 1) else { return }
    guard Console.isShell else { endWithoutOutput() }
    Console.noteFailure()
}

func printError(_ line: String) { _ = writeAll(line + "\n", to: 2) }

func writeAll(_ text: String, to descriptor: Int32) -> Bool {
    text.withUTF8Bytes { bytes in writeAll(bytes, to: descriptor) }
}

/// Standard output is full or nobody reads it any more, which is not worth a word.
func endWithoutOutput() -> Never {
    let number = errno
    if number != EPIPE { printError("motte: cannot write to standard output: \(String(cString: strerror(number)))") }
    exit(1)
}

/// Where one of the three standard descriptors is closed, the next file that is opened would get its number, and what
/// is printed would go into that.
func occupyStandardDescriptors() {
    for descriptor in Int32(0) ... 2 where fcntl(descriptor, F_GETFD) < 0 {
        // Standard output is opened for reading, so that writing to it fails as it did before.
        let opened = open("/dev/null", descriptor == 1 ? O_RDONLY : O_RDWR)
        if opened >= 0, opened != descriptor {
            dup2(opened, descriptor)
            close(opened)
        }
    }
}

/// False when nobody reads any more, or the disk is full.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
        let written = write(descriptor, rest.baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    if descriptor == 1 { Console.noteWritten(bytes) }
    return true
}
