/// What libFuzzer calls. One program has all targets: MOTTE_FUZZ_TARGET says which one runs; with MOTTE_FUZZ_SEEDS it
/// writes that target's seeds into the folder and ends.
import CMotteShim

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

private let chosen: FuzzTarget = {
    let name = getenv("MOTTE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget.named(name) else {
        print("MOTTE_FUZZ_TARGET is '\(name)'; there are: " + FuzzTarget.all.map(\.name).joined(separator: " "))
        exit(64)
    }
    return target
}()

@_cdecl("LLVMFuzzerInitialize")
func initializeFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> Int32 {
    motte_shim_repeat()
    guard let folder = getenv("MOTTE_FUZZ_SEEDS").map({ String(cString: $0) }) else { return 0 }
    do {
        for (number, seed) in try chosen.seeds().enumerated() {
            let path = "\(folder)/seed-\(number)"
            guard let file = fopen(path, "w") else { throw Finding("\(path) cannot be written") }
            fwrite(seed, 1, seed.count, file)
            fclose(file)
        }
    } catch {
        print("the seeds of \(chosen.name): \(error)")
        exit(1)
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // What one input does it does again, whatever ran before it.
    motte_shim_repeat()
    do {
        try chosen.run(UnsafeRawBufferPointer(start: start, count: count))
    } catch {
        print("finding of \(chosen.name): \(error)")
        fflush(nil)
        abort()
    }
    return 0
}
