/// A thread that does one thing again and again until it is stopped.
import Glibc
import Synchronization

final class RepeatingThread: @unchecked Sendable {  // @unchecked: 'make' is only called on the thread
    private let make: () throws -> () throws -> Void
    private let state = Mutex((isStopped: false, isReady: false, count: 0, failure: (any Error)?.none))
    private var thread = pthread_t()

    /// `make` is called on the thread, and gives what is done there. Returns once it is at work.
    init(_ make: @escaping () throws -> () throws -> Void) {
        self.make = make
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<RepeatingThread>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        while !state.withLock({ $0.isReady }) { usleep(100) }
    }

    private func run() {
        do {
            let body = try make()
            state.withLock { $0.isReady = true }
            while !state.withLock({ $0.isStopped }) {
                try body()
                state.withLock { $0.count += 1 }
            }
        } catch {
            state.withLock { state in
                state.failure = error
                state.isReady = true
            }
        }
    }

    /// How often it was done.
    func stop() throws -> Int {
        state.withLock { $0.isStopped = true }
        pthread_join(thread, nil)
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            return state.count
        }
    }
}
