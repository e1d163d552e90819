import MotteValues
import Testing

@Suite struct ISOTimeTests {
    @Test(
        arguments: [
            ("1970-01-01", 0, 0), ("1970-01-01T00:00:00Z", 0, 0),
            ("2013-01-01 10:00:00.25+02:00", 1_357_027_200, 250_000_000),
            ("1969-12-31T23:59:59.5Z", -1, 500_000_000), ("2000-02-29T12:00:00.123456789Z", 951_825_600, 123_456_789),
            ("0001-01-01T00:00:00Z", -62_135_596_800, 0), ("9999-12-31T23:59:59-0130", 253_402_306_199, 0),
        ] as [(String, Int64, UInt32)])
    func reads(_ text: String, _ seconds: Int64, _ nanoseconds: UInt32) {
        #expect(ISOTime.parse(text) == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(arguments: [
        "", "2013", "2013-13-01", "2013-02-29", "2013-01-01T10:00:00", "2013-01-01T24:00:00Z", "2013-01-01T10:00:60Z",
        "2013-01-01T10:00:00.Z", "2013-01-01T10:00:00Z ", "2013-01-01T10:00:00+", "13-01-01", "2013-01-01T10:00:00z",
    ])
    func refuses(_ text: String) { #expect(ISOTime.parse(text) == nil) }

    @Test(
        arguments: [
            (0, 0, "1970-01-01T00:00:00Z"), (-1, 500_000_000, "1969-12-31T23:59:59.5Z"),
            (951_825_600, 1, "2000-02-29T12:00:00.000000001Z"),
        ] as [(Int64, UInt32, String)])
    func writes(_ seconds: Int64, _ nanoseconds: UInt32, _ text: String) {
        #expect(ISOTime.text(Timestamp(seconds: seconds, nanoseconds: nanoseconds)) == text)
    }

    @Test func readsWhatItWrites() {
        // Through all years that have four digits, at all hours.
        for seconds in stride(from: -62_135_596_800, through: 253_402_300_799, by: 123_456_789) as StrideThrough<Int64>
        {
            let time = Timestamp(seconds: seconds, nanoseconds: UInt32(seconds.magnitude % 1_000_000_000))
            #expect(ISOTime.parse(ISOTime.text(time)) == time)
        }
    }
}
