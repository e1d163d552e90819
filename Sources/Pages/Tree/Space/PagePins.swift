/// Which versions are pinned, in every process that has the file open: the writer asks before it uses a page again.
///
/// Each process has a row of 64 words in memory that all of them share (or, without a sidecar, memory of its own): 63
/// pinned versions, each plus one, 0 where none; and one word for the case that there are more, which says "everything
/// from this version on". The kernel's lock on a process's row says whether the process lives.
///
/// A reader stores its pin and then looks whether the version is still the newest; the writer publishes a version and
/// then looks at the pins. Whichever comes second sees the other, so a page is never taken from under a reader.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class PagePins: @unchecked Sendable {  // @unchecked: words are atomic, the rest never changes
    struct Pin {
        fileprivate let word: Int
        fileprivate let version: Version
    }

    /// What must not be overwritten.
    package struct Protected {
        /// Ascending.
        package internal(set) var versions: [Version]
        /// All versions from here on.
        var from = Version.max

        package init(versions: [Version]) { self.versions = versions }

        /// A pinned version that shows what lived from `birth` until just before `death`; nil if none does.
        func holder(birth: Version, death: Version) -> Version? {
            if from < death { return from }
            var low = 0
            var high = versions.count
            while low < high {
                let middle = (low + high) / 2
                if versions[middle] < birth { low = middle + 1 } else { high = middle }
            }
            return low < versions.count && versions[low] < death ? versions[low] : nil
        }
    }

    static let wordsPerProcess = 64
    private static let exactWords = wordsPerProcess - 1

    private let sidecar: Sidecar?
    private let words: UnsafeMutablePointer<UInt64>
    private let ownsWords: Bool
    /// Versions that found no word of their own. Words are claimed and released holding the lock.
    private let crowd = Locked<[Version]>([])

    package init(_ sidecar: Sidecar?) {
        self.sidecar = sidecar
        if let sidecar {
            words = sidecar.pinRow(sidecar.ownSlot)
            ownsWords = false
        } else {
            words = .allocate(capacity: PagePins.wordsPerProcess)
            words.initialize(repeating: 0, count: PagePins.wordsPerProcess)
            ownsWords = true
        }
    }

    deinit {
        if ownsWords { words.deallocate() }
    }

    func claim(_ version: Version) -> Pin {
        crowd.withLock { crowd in
            for word in 0 ..< PagePins.exactWords where motte_shim_load64(words + word) == 0 {
                motte_shim_store64(words + word, version.rawValue + 1)
                return Pin(word: word, version: version)
            }
            crowd.append(version)
            publish(crowd)
            return Pin(word: PagePins.exactWords, version: version)
        }
    }

    func release(_ pin: Pin) {
        crowd.withLock { crowd in
            guard pin.word == PagePins.exactWords else {
                motte_shim_store64(words + pin.word, 0)
                return
            }
            if let index = crowd.firstIndex(of: pin.version) { crowd.remove(at: index) }
            publish(crowd)
        }
    }

    private func publish(_ crowd: [Version]) {
        motte_shim_store64(words + PagePins.exactWords, crowd.min().map { $0.rawValue + 1 } ?? 0)
    }

    /// Everything pinned anywhere, and the versions given.
    package func protected(and more: [Version]) -> Protected {
        var all = Protected(versions: more)
        PagePins.collect(words, &all)
        if let sidecar {
            for slot in sidecar.otherSlots() {
                let row = sidecar.pinRow(slot)
                guard PagePins.hasPins(row), sidecar.isAlive(slot) else { continue }
                PagePins.collect(row, &all)
            }
        }
        all.versions.sort()
        return all
    }

    /// Process and version of every pin.
    func list() -> [PageReader] {
        var all: [PageReader] = []
        func add(_ row: UnsafeMutablePointer<UInt64>, _ process: Int32) {
            var found = Protected(versions: [])
            PagePins.collect(row, &found)
            if found.from != .max { found.versions.append(found.from) }
            all += found.versions.sorted().map { PageReader(processID: process, version: $0) }
        }
        add(words, getpid())
        if let sidecar {
            for slot in sidecar.otherSlots() where sidecar.isAlive(slot) {
                add(sidecar.pinRow(slot), sidecar.process(slot))
            }
        }
        return all
    }

    private static func hasPins(_ row: UnsafeMutablePointer<UInt64>) -> Bool {
        (0 ..< wordsPerProcess).contains { motte_shim_load64(row + $0) != 0 }
    }

    private static func collect(_ row: UnsafeMutablePointer<UInt64>, _ all: inout Protected) {
        for word in 0 ..< exactWords {
            let value = motte_shim_load64(row + word)
            if value != 0 { all.versions.append(Version(value - 1)) }
        }
        let crowd = motte_shim_load64(row + exactWords)
        if crowd != 0 { all.from = min(all.from, Version(crowd - 1)) }
    }
}
