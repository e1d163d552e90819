// Zones: what clocks show, beside the files' own changes; spans of the calendar in them, which divide all times; files
// that are none. Python's tests compare them with its zoneinfo.
import MotteQueryEngine
import MotteValues
import TestSupport
import Testing

@Suite struct TimeZoneTests {
    private static let names = [
        "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
        "Europe/Dublin",
        "Africa/Casablanca", "Pacific/Apia", "Asia/Tehran", "America/Godthab", "Asia/Gaza", "Antarctica/Troll", "UTC",
        "+05:30", "-11:00", "Africa/Monrovia", "Asia/Kathmandu",
    ]

    @Test func knownTimes() throws {
        let berlin = try ZoneTable.named("Europe/Berlin")
        // 2024-03-31 01:00 and 2024-10-27 01:00 UTC; by the rule: 2097.
        for (second, offset) in [
            (1_711_846_799, 3_600), (1_711_846_800, 7_200), (1_729_990_799, 7_200), (1_729_990_800, 3_600),
            (4_017_211_200, 7_200), (4_004_078_400, 3_600), (-3_000_000_000, 3_208),
        ] as [(Int64, Int64)] {
            #expect(berlin.offset(at: second).offset == offset, "\(second)")
        }
        // 02:30 is left out in spring, and shown twice in autumn.
        #expect(berlin.second(ofLocal: 1_711_846_800 + 3_600 + 1_800) == 1_711_846_800)
        #expect(berlin.second(ofLocal: 1_729_990_800 + 3_600 + 1_800) == 1_729_990_800 - 1_800)
    }

    @Test(arguments: names)
    func spansDivideAllTimes(name: String) throws {
        let zone = try ZoneTable.named(name)
        try PropertyTest.run(rounds: 300) { random, comment in
            let second =
                switch random.below(4) {
                case 0: Int64(random.below(8_000_000_000)) - 4_000_000_000
                case 1: Int64(truncatingIfNeeded: random.next())
                // Around a change.
                default:
                    {
                        let (_, from, end) = zone.offset(at: Int64(random.below(5_000_000_000)) - 2_000_000_000)
                        let edge = end == .max ? (from == .min ? 0 : from) : end
                        return edge + Int64(random.below(200_000)) - 100_000
                    }()
                }
            let (offset, from, end) = zone.offset(at: second)
            #expect(from <= second && (second < end || end == .max), "\(comment)")
            if second.magnitude < 1 << 40 {
                #expect(zone.second(ofLocal: second + offset) <= second, "\(name), \(second), \(comment)")
            }
            for bucket in TimeBucket.allCases {
                let spans = try TimeSpans(bucket, zone: name)
                let span = spans.span(second)
                #expect(span.start <= second || span.start == .min, "\(name), \(bucket), \(second), \(comment)")
                #expect(span.from <= second && (second < span.end || span.end <= span.from || span.end == .max))
                if span.start != .min, second.magnitude < 1 << 40, [.second, .minute, .hour].contains(bucket) {
                    // Clocks show one hour from its beginning on, and behind that another one, or the same once more.
                    func shown(_ second: Int64) -> Int64 { second + zone.offset(at: second).offset }
                    let own = bucket.span(shown(second)).start
                    for probe in [span.start, span.start + (second - span.start) / 2, second] {
                        #expect(bucket.span(shown(probe)).start == own, "\(name), \(bucket), \(second), \(comment)")
                    }
                    let before = shown(span.start - 1)
                    #expect(bucket.span(before).start != own || before >= shown(span.start), "\(name), \(second)")
                }
                // What is said of times around it is true of them.
                if span.from < span.end, span.end != .max {
                    #expect(spans.span(span.from).start == span.start, "\(name), \(bucket), \(second), \(comment)")
                    #expect(spans.span(span.end - 1).start == span.start, "\(name), \(bucket), \(second), \(comment)")
                    #expect(spans.span(span.end).start >= span.start, "\(name), \(bucket), \(second), \(comment)")
                }
            }
        }
    }

    /// On 19 September 1997 clocks in Gaza went from one o'clock back to midnight: the day began before that.
    @Test func midnightsThatComeTwice() throws {
        let spans = try TimeSpans(.day, zone: "Asia/Gaza")
        let zone = try ZoneTable.named("Asia/Gaza")
        let change: Int64 = 874_620_000
        #expect(zone.offset(at: change - 1).offset == 10_800 && zone.offset(at: change).offset == 7_200)
        for second in [change - 3_600, change - 1, change, change + 80_000] {
            #expect(spans.span(second).start == change - 3_600, "\(second)")
        }
        #expect(spans.span(change - 3_601).end == change - 3_600)
    }

    /// Clocks that change within an hour: by an hour at a minute past midnight, and by half an hour.
    @Test(
        arguments: [
            ("America/St_Johns", 1_289_097_030, 1_289_097_000), ("America/St_Johns", 1_289_097_900, 1_289_097_060),
            ("America/St_Johns", 1_268_537_430, 1_268_537_400), ("America/St_Johns", 1_268_538_300, 1_268_537_460),
            ("Australia/Lord_Howe", 1_775_313_900, 1_775_311_200),
            ("Australia/Lord_Howe", 1_775_315_400, 1_775_314_800),
            ("Australia/Lord_Howe", 1_791_042_000, 1_791_041_400),
        ] as [(String, Int64, Int64)])
    func hoursInWhichClocksChange(name: String, second: Int64, start: Int64) throws {
        #expect(try TimeSpans(.hour, zone: name).span(second).start == start)
    }

    @Test(arguments: [
        "", "Europe/Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/Berlin\u{0}", "+25:00", "+5:30",
        "+05:60",
        "posix/../../../../etc/hostname", "Europe/Berlin/..", "zone.tab", String(repeating: "a", count: 70),
    ])
    func whatIsNoZone(name: String) {
        let error = #expect(throws: DatabaseError.self) { try ZoneTable.named(name) }
        #expect(error?.code == .queryArgument)
    }

    @Test func rules() throws {
        func offset(_ text: String, _ second: Int64) throws -> Int64 {
            let rule = try #require(ZoneRule(text.utf8), "\(text)")
            guard let (begin, end) = rule.changes(of: 2024) else { return rule.standard }
            let isSummer = begin < end ? second >= begin && second < end : !(second >= end && second < begin)
            return isSummer ? rule.summer : rule.standard
        }
        // 2024-07-01 and 2024-01-15
        let (summer, winter): (Int64, Int64) = (1_719_792_000, 1_705_276_800)
        #expect(try offset("CET-1CEST,M3.5.0,M10.5.0/3", summer) == 7_200)
        #expect(try offset("AEST-10AEDT,M10.1.0,M4.1.0/3", summer) == 36_000)
        #expect(try offset("AEST-10AEDT,M10.1.0,M4.1.0/3", winter) == 39_600)
        #expect(try offset("IST-1GMT0,M10.5.0,M3.5.0/1", winter) == 0)
        #expect(try offset("<+0330>-3:30", summer) == 12_600)
        #expect(try offset("EST5EDT,J60,J300/-1", summer) == -14_400)
        #expect(try offset("EST5EDT,0/0,J365/25", winter) == -14_400)
        for text in [
            "", "C", "CET", "CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0", "<+03", "CET-1,", "CET-99",
            "CET-1CEST,M3.5.0,M10.5.0/3 ",
        ] {
            #expect(ZoneRule(text.utf8) == nil, "\(text)")
        }
    }

    /// Any bytes are a zone or none; nothing else happens.
    @Test func filesThatAreNone() throws {
        var good = [UInt8]()
        for header in 0 ..< 2 {
            good += Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
            // No marks, no leap seconds, two changes, two types, eight bytes of names.
            for count in [0, 0, 0, 2, 2, 8] as [UInt8] { good += [0, 0, 0, count] }
            for time in [1_000, 2_000] {
                let wide = withUnsafeBytes(of: Int64(time).bigEndian) { Array($0) }
                good += header == 0 ? Array(wide[4...]) : wide
            }
            good += [1, 0] + [0, 0, 14, 16, 0, 0] + [0, 0, 28, 32, 1, 4] + Array("CET\0CES\0".utf8)
        }
        good += Array("\nCET-1CEST,M3.5.0,M10.5.0/3\n".utf8)
        let whole = try #require(good.withUnsafeBytes { ZoneTable.parse($0) })
        #expect(whole.offset(at: 1_500).offset == 7_200 && whole.offset(at: 999).offset == 3_600)
        for count in 0 ..< good.count { _ = Array(good[..<count]).withUnsafeBytes { ZoneTable.parse($0) } }
        try PropertyTest.run(rounds: 3_000) { random, _ in
            var bytes = good
            for _ in 0 ..< 1 + random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if let table = bytes.withUnsafeBytes({ ZoneTable.parse($0) }) {
                for second in [Int64.min, -1, 0, 1_500, 1 << 40, .max] {
                    _ = table.offset(at: second)
                    _ = table.second(ofLocal: second)
                }
            }
        }
    }

    @Test func groupsInAZone() throws {
        let world = try QueryWorld("P { at: timestamp? }")
        try world.begin()
        // 2024-03-30 23:30, 2024-03-31 00:30, 21:59:59, 22:00 UTC
        for second in [1_711_841_400, 1_711_845_000, 1_711_922_399, 1_711_922_400] as [Int64] {
            try world.create("P", ["at": .value(.timestamp(Timestamp(seconds: second, nanoseconds: 7)))])
        }
        try world.create("P", [:])
        try world.commit()
        func groups(_ text: String) throws -> [String] {
            let table = try world.groups("P", text, [])
            return (0 ..< table.count).map { row in
                table.columns.indices.map { table.view($0, row).owned.text }.joined(separator: " ")
            }
        }
        #expect(try groups("at != NULL GROUP(at BY day IN 'Europe/Berlin') COUNT").count == 2)
        #expect(try groups("at != NULL GROUP(at BY day) COUNT").count == 2)
        #expect(try groups("GROUP(at BY month IN 'Europe/Berlin') COUNT").count == 3)
        #expect(try groups("GROUP(at BY day IN '+14:00' AS d) COUNT HAVING COUNT == 4").count == 0)
        let text = "GROUP(at BY week IN \"Europe/Berlin\") COUNT SORT(at BY week IN \"Europe/Berlin\" DESC)"
        #expect(try PredicateText.describe(ParsedQuery.parse(text)) == text)
        let error = #expect(throws: DatabaseError.self) {
            try world.bindGroups("P", "GROUP(at BY day IN 'Mars') COUNT")
        }
        #expect(error?.code == .queryArgument && error?.details.queryOffset == 6)
    }
}
