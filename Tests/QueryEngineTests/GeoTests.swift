/// Shapes on the sphere: regions against other ways to compute them, mistakes, and queries with them.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite struct GeoTests {
    private static func point(_ longitude: Double, _ latitude: Double) -> GeoPoint {
        GeoPoint(longitude: longitude, latitude: latitude)
    }

    private static func anywhere(_ random: inout SeededRandom) -> GeoPoint {
        point(Double(random.below(360_000)) / 1_000 - 180, Double(random.below(180_000)) / 1_000 - 90)
    }

    /// The angle between two points, by haversines.
    private static func distance(_ one: GeoPoint, _ other: GeoPoint) -> Double {
        let radians = Double.pi / 180
        let latitude = sin((other.latitude - one.latitude) * radians / 2)
        let longitude = sin((other.longitude - one.longitude) * radians / 2)
        let half =
            latitude * latitude
            + cos(one.latitude * radians) * cos(other.latitude * radians) * longitude * longitude
        return 2 * asin(min(1, half.squareRoot()))
    }

    /// The direction from one point to another, clockwise from north.
    private static func bearing(_ one: GeoPoint, _ other: GeoPoint) -> Double {
        let radians = Double.pi / 180
        let turn = (other.longitude - one.longitude) * radians
        let (from, to) = (one.latitude * radians, other.latitude * radians)
        return atan2(sin(turn) * cos(to), cos(from) * sin(to) - sin(from) * cos(to) * cos(turn))
    }

    /// How often a ring goes round a point, by the angles under which its sides are seen.
    private static func turns(_ ring: [GeoPoint], _ point: GeoPoint) -> Int {
        var sum = 0.0
        for index in ring.indices.dropLast() {
            var angle = bearing(point, ring[index + 1]) - bearing(point, ring[index])
            if angle > .pi { angle -= 2 * .pi }
            if angle < -.pi { angle += 2 * .pi }
            sum += angle
        }
        return Int((sum / (2 * .pi)).rounded())
    }

    /// What is `distance` radians away in a direction.
    private static func away(_ center: GeoPoint, _ distance: Double, _ direction: Double) -> GeoPoint {
        let radians = Double.pi / 180
        let latitude = center.latitude * radians
        let high = asin(sin(latitude) * cos(distance) + cos(latitude) * sin(distance) * cos(direction))
        let turn = atan2(
            sin(direction) * sin(distance) * cos(latitude), cos(distance) - sin(latitude) * sin(high))
        var longitude = center.longitude + turn / radians
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return point(longitude, high / radians)
    }

    @Test func circlesAreWhatIsNear() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let center = Self.anywhere(&random), radius = Double(random.below(3_200)) / 1_000
            let region = try GeoRegion(.circle(center: center, radians: radius))
            for _ in 0 ..< 40 {
                let place = Self.anywhere(&random), distance = Self.distance(center, place)
                guard abs(distance - radius) > 1e-6 else { continue }
                #expect(region.contains(place) == (distance < radius), "\(place) \(center) \(radius); \(comment)")
            }
        }
    }

    /// Star-shaped rings anywhere, over poles and the 180th meridian too.
    @Test func polygonsAreWhatTheirRingGoesRound() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let center = Self.anywhere(&random), corners = 3 + random.below(12)
            var directions = (0 ..< corners).map { Double($0) * 2 * .pi / Double(corners) }
            if random.chance(50) { directions.reverse() }
            var ring = directions.map { Self.away(center, 0.05 + Double(random.below(1_200)) / 1_000, $0) }
            ring.append(ring[0])
            let region: GeoRegion
            do throws(DatabaseError) {
                region = try GeoRegion(.polygon(outer: ring, holes: []))
            } catch {
                // Wide triangles can have their centre outside and cover more than half of the sphere.
                #expect(error.message.contains("one half"), "\(error); \(comment)")
                return
            }
            for _ in 0 ..< 40 {
                let place =
                    random.chance(50)
                    ? Self.anywhere(&random)
                    : Self.away(center, Double(random.below(1_300)) / 1_000, Double(random.below(7_000)) / 1_000)
                // Near a corner the angles are too coarse to say.
                guard ring.allSatisfy({ Self.distance($0, place) > 1e-3 }) else { continue }
                // A ring is seen to turn from the other side of the earth, too.
                let isNear = Self.distance(center, place) < .pi / 2
                let expected = isNear && Self.turns(ring, place) != 0
                #expect(region.contains(place) == expected, "\(place) in \(ring); \(comment)")
            }
        }
    }

    @Test func holesAndSidesOverTheSphere() throws {
        let square = [(0.0, 0.0), (10, 0), (10, 10), (0, 10), (0, 0)].map { Self.point($0.0, $0.1) }
        let hole = [(4.0, 4.0), (6, 4), (6, 6), (4, 6), (4, 4)].map { Self.point($0.0, $0.1) }
        let region = try GeoRegion(.polygon(outer: square, holes: [hole]))
        #expect(region.contains(Self.point(1, 1)) && region.contains(Self.point(9, 9)))
        #expect(!region.contains(Self.point(5, 5)) && !region.contains(Self.point(11, 5)))
        #expect(!region.contains(Self.point(-175, -5)) && !region.contains(Self.point(.nan, 5)))
        // The way between two points of one latitude leads nearer to the pole.
        let high = [(-60.0, 50.0), (60, 50), (60, 10), (-60, 10), (-60, 50)].map { Self.point($0.0, $0.1) }
        #expect(try GeoRegion(.polygon(outer: high, holes: [])).contains(Self.point(0, 60)))
        let box = try GeoRegion(.box(bottomLeft: Self.point(-60, 10), topRight: Self.point(60, 50)))
        #expect(!box.contains(Self.point(0, 60)))
        #expect(box.contains(Self.point(60, 50)) && box.contains(Self.point(-60, 10)))
        let across = try GeoRegion(.box(bottomLeft: Self.point(170, -5), topRight: Self.point(-170, 5)))
        #expect(across.contains(Self.point(175, 0)) && across.contains(Self.point(-175, 0)))
        #expect(!across.contains(Self.point(0, 0)))
        let pole = [(0.0, 80.0), (90, 80), (180, 80), (-90, 80), (0, 80)].map { Self.point($0.0, $0.1) }
        #expect(try GeoRegion(.polygon(outer: pole, holes: [])).contains(Self.point(33, 89)))
    }

    @Test func mistakesAreSaid() throws {
        let mistakes: [(String, String)] = [
            ("geoBox([0, 1], [1, 0])", "lower left"), ("geoBox([0, 0], [181, 1])", "longitudes"),
            ("geoCircle([0, 0], -1)", "not negative"), ("geoCircle([0, 0], nan)", "a number"),
            ("geoCircle([0, 91], 1)", "latitudes"), ("geoPolygon({[0, 0], [1, 1], [0, 0]})", "at least three"),
            ("geoPolygon({[0, 0], [1, 0], [1, 1], [0, 1]})", "ends with the point"),
            ("geoPolygon({[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]})", "cross"),
            ("geoPolygon({[0, 0], [1, 1], [1, 1], [0, 1], [0, 0]})", "twice in a row"),
            ("geoPolygon({[0, 0], [120, 0], [-120, 0], [0, 0]})", "half of the earth"),
            ("geoPolygon({[0, 0], [9, 0], [0, 9], [0, 0]}, {[8, 8], [9, 8], [9, 9], [8, 8]})", "outside"),
            ("geoPolygon({[0, 0], [9, 0], [0, 9], [0, 0]}, {[1, 1], [9, 1], [1, 2], [1, 1]})", "cross"),
            (
                "geoPolygon({[0, 0], [9, 0], [0, 9], [0, 0]}, {[1, 1], [5, 1], [1, 5], [1, 1]}, "
                    + "{[2, 2], [3, 2], [2, 3], [2, 2]})", "inside another"
            ),
            ("geoSquare([0, 0])", "geoBox"), ("geoBox([0, 0])", "upper right"), ("geoBox([0, 0], [1, 1]) x", "the end"),
        ]
        let world = try Self.world()
        for (text, words) in mistakes {
            do throws(DatabaseError) {
                _ = try world.bind("Shop", "place GEOWITHIN $0", [.value(.string(text))])
                Issue.record("\(text) was taken")
            } catch {
                #expect(error.code == .queryArgument || error.code == .queryInvalid, "\(text): \(error)")
                #expect(error.message.contains(words), "\(text): \(error)")
            }
        }
    }

    @Test func shapesSurvivePrinting() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let shape = Self.shape(&random)
            let query = ParsedQuery(.comparison(.init(.path(.init(["place"])), .geoWithin, .shape(shape))))
            let again = try ParsedQuery.parse(PredicateText.describe(query))
            #expect(again.predicate == query.predicate, "\(shape.text); \(comment)")
            #expect(try GeoShape.parse(shape.text) == shape)
        }
    }

    private static func shape(_ random: inout SeededRandom) -> GeoShape {
        switch random.below(3) {
        case 0:
            let (a, b) = (anywhere(&random), anywhere(&random))
            return .box(
                bottomLeft: point(a.longitude, min(a.latitude, b.latitude)),
                topRight: point(b.longitude, max(a.latitude, b.latitude)))
        case 1: return .circle(center: anywhere(&random), radians: Double(random.below(3_000)) / 1_000)
        default:
            func ring(_ random: inout SeededRandom) -> [GeoPoint] {
                let points = (0 ..< 3 + random.below(4)).map { _ in anywhere(&random) }
                return points + [points[0]]
            }
            return .polygon(outer: ring(&random), holes: (0 ..< random.below(3)).map { _ in ring(&random) })
        }
    }

    // MARK: Queries

    private static func world() throws -> QueryWorld {
        try QueryWorld(
            """
            Shop { id: int key, place: link<Place>, other: list<Place>, tag: link<Tag>, name: string }
            embedded Place { type: string, coordinates: list<double> }
            embedded Tag { type: string }
            """)
    }

    @Test func whatIsNoPlaceIsRefused() throws {
        let world = try Self.world()
        let mistakes: [(String, Int, String)] = [
            ("name GEOWITHIN geoCircle([0, 0], 1)", 0, "no embedded object"),
            ("SELF GEOWITHIN geoCircle([0, 0], 1)", 0, "no class of GeoJSON points"),
            ("tag GEOWITHIN geoCircle([0, 0], 1)", 0, "no class of GeoJSON points"),
            ("other GEOWITHIN geoCircle([0, 0], 1)", 0, "say ANY, ALL or NONE"),
            ("ANY place GEOWITHIN geoCircle([0, 0], 1)", 0, "is a single value"),
            ("place GEOWITHIN 5", 16, "a shape is a text"), ("place GEOWITHIN other", 16, "needs a shape"),
            ("place GEOWITHIN geoBox([0, 1], [1, 0])", 16, "lower left"),
        ]
        for (text, offset, words) in mistakes {
            do throws(DatabaseError) {
                _ = try world.bind("Shop", text)
                Issue.record("\(text) was taken")
            } catch {
                #expect(error.message.contains(words), "\(text): \(error)")
                #expect(error.details.queryOffset == offset, "\(text): \(error)")
            }
        }
    }
}
