/// A thread for one piece of work, which whoever began it waits for.
import CMotteShim

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct WorkThread {
    /// Texts may be nested deeply, and some systems give threads little.
    private static let stackBytes = 8 << 20
    private let thread: pthread_t

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// nil where the system has no thread to give.
    package init?(_ run: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return nil }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackBytes)
        let work = Unmanaged.passRetained(Work(run))
        var thread = pthread_t()
        // Signals are for the threads of the program: this one takes none, as it inherits the mask it is begun with.
        var kept = sigset_t()
        motte_shim_block_signals(&kept)
        defer { motte_shim_restore_signals(&kept) }
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, work.toOpaque())
        guard failure == 0 else {
            work.release()
            return nil
        }
        self.thread = thread
    }

    package func join() { pthread_join(thread, nil) }

    package static var processors: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
}
