/// A thread for a test: starts at once, is joined for its result.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import MotteValues

public final class ThreadRun<Outcome: Sendable>: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () throws -> Outcome
        let outcome = Locked<Swift.Result<Outcome, any Error>?>(nil)
        init(_ run: @escaping @Sendable () throws -> Outcome) { self.run = run }
    }

    private struct Handle: @unchecked Sendable {
        var thread = pthread_t()
    }

    private struct NotStarted: Error {}

    private let body: Body
    private let handle: Handle

    public init(_ run: @escaping @Sendable () throws -> Outcome) {
        body = Body(run)
        var made = Handle()
        // Erased, because a C function pointer cannot be generic.
        let work: @Sendable () -> Void = { [body] in
            let outcome = Swift.Result { try body.run() }
            body.outcome.withLock { $0 = outcome }
        }
        let box = Unmanaged.passRetained(Work(work))
        if pthread_create(
            &made.thread, nil,
            { argument in
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, box.toOpaque()) != 0
        {
            box.release()
        }
        handle = made
    }

    public func join() throws -> Outcome {
        pthread_join(handle.thread, nil)
        guard let outcome = body.outcome.withLock({ $0 }) else { throw NotStarted() }
        return try outcome.get()
    }
}

private final class Work: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
