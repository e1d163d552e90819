/// Where C enters. `boundary` is the only place where an error becomes a status: it runs a body, keeps the thread's
/// error and returns the code. Every exported function is one call of it, or cannot fail.
import CMotte
import CMotteShim
import MotteValues

typealias Outcome = motte_status

extension Outcome {
    static let ok: Outcome = 0
    static let notFound: Outcome = 1
    static let null: Outcome = 2
    static let end: Outcome = 3
    static let unchanged: Outcome = 4
    static let truncated: Outcome = 5
    static let pending: Outcome = 6
}

@inline(__always)
func boundary(_ body: () throws(DatabaseError) -> Outcome) -> motte_status {
    motte_shim_enter_call()
    defer { motte_shim_leave_call() }
    do throws(DatabaseError) {
        return try body()
    } catch {
        Log.write(error)
        ThreadState.current.fail(error)
        return error.code.rawValue
    }
}

/// For checks that report a status without becoming the thread's last error.
@inline(__always)
func quietBoundary(_ body: () throws(DatabaseError) -> Outcome) -> motte_status {
    do throws(DatabaseError) {
        return try body()
    } catch {
        return error.code.rawValue
    }
}

// MARK: Arguments

/// An output that must be there, zeroed so that it is defined if the call fails later.
@inline(__always)
func required<T>(_ out: UnsafeMutablePointer<T>?, zero: T) throws(DatabaseError) -> UnsafeMutablePointer<T> {
    guard let out else { throw nullOutput() }
    out.pointee = zero
    return out
}

@inline(__always)
func required(_ out: UnsafeMutablePointer<OpaquePointer?>?) throws(DatabaseError)
    -> UnsafeMutablePointer<OpaquePointer?>
{
    try required(out, zero: nil)
}

private func nullOutput() -> DatabaseError { DatabaseError(.nullArgument, "a required output is NULL") }

/// No array ends behind what a process can address (user space has 47 bits, 56 on some machines): a count that is
/// really a negative number, or a size in other units, is refused before it is multiplied, added or believed.
@inline(__always)
func isAddressable(_ start: UnsafeRawPointer?, _ count: Int, stride: Int) -> Bool {
    guard count >= 0 else { return false }
    let (bytes, overflows) = count.multipliedReportingOverflow(by: max(stride, 1))
    let end = UInt(bitPattern: start).addingReportingOverflow(UInt(bitPattern: bytes))
    return !overflows && !end.overflow && end.partialValue <= 1 << 56
}

/// Of what comes in or goes out.
@inline(__always)
func checkCount<T>(_ count: Int, of start: UnsafePointer<T>?, _ what: StaticString) throws(DatabaseError) {
    guard isAddressable(start, count, stride: MemoryLayout<T>.stride) else {
        throw DatabaseError(.invalidArgument, "\(what) is larger than memory")
    }
}

/// An array that comes in: NULL only with count 0.
@inline(__always)
func input<T>(_ start: UnsafePointer<T>?, _ count: Int) throws(DatabaseError) -> UnsafeBufferPointer<T> {
    try checkCount(count, of: start, "a count")
    guard start != nil || count == 0 else { throw DatabaseError(.nullArgument, "an array of \(count) is NULL") }
    return UnsafeBufferPointer(start: start, count: count)
}

@inline(__always)
func checkFlags(_ flags: UInt32, allowed: UInt32 = 0) throws(DatabaseError) {
    guard flags & ~allowed == 0 else {
        throw DatabaseError(.unknownFlag, "unknown flag bits 0x\(String(flags & ~allowed, radix: 16))")
    }
}

@inline(__always)
func checkIndex(_ index: Int, below count: Int) throws(DatabaseError) {
    guard index >= 0, index < count else {
        // An index above Int.max arrives as a negative number.
        throw DatabaseError(.outOfBounds, "index \(UInt(bitPattern: index)) is not below \(count)")
    }
}

/// The (array, capacity, count) protocol for outputs.
func fill<T, Source: Collection>(
    _ array: UnsafeMutablePointer<T>?, _ capacity: Int, _ outCount: UnsafeMutablePointer<Int>?, from source: Source
) throws(DatabaseError) -> Outcome where Source.Element == T {
    let outCount = try required(outCount, zero: 0)
    try checkCount(capacity, of: UnsafePointer(array), "a capacity")
    guard array != nil || capacity == 0 else { throw DatabaseError(.nullArgument, "an array of \(capacity) is NULL") }
    outCount.pointee = source.count
    if let array {
        for (offset, element) in source.prefix(capacity).enumerated() { (array + offset).initialize(to: element) }
    }
    // Asking for the size, with NULL, is not a truncation.
    return array != nil && source.count > capacity ? .truncated : .ok
}
