/// Points and shapes: what is refused when they are made, conversions, and what the query engine is given.
import Foundation
import Motte
import enum MotteQueryEngine.GeoShape
import Testing

@Suite struct GeospatialTests {
    @Test(
        arguments: [
            (90, 0, 0, true), (-90, 0, 0, true), (12.3456789, 0, 0, true), (90.000000001, 0, 0, false),
            (-90.000000001, 0, 0, false), (0, 180, 0, true), (0, -180, 0, true), (0, 180.000000001, 0, false),
            (0, -9_999_999, 0, false), (90, 0, 500, true), (90, 0, -1, false), (Double.nan, 0, 0, false),
            (0, Double.nan, 0, false), (0, 0, Double.nan, false),
        ] as [(Double, Double, Double, Bool)])
    func pointsAreOnTheEarth(_ latitude: Double, _ longitude: Double, _ altitude: Double, _ exists: Bool) {  // 234
        let point = GeoPoint(latitude: latitude, longitude: longitude, altitude: altitude)

        #expect((point != nil) == exists)
        #expect(point == nil || point?.altitude == altitude)
    }

    @Test(arguments: [0, 1.5, -1, Double.nan, Double.infinity])
    func distancesAreNotNegative(_ value: Double) {  // 235
        let makers = [Distance.kilometers, Distance.miles, Distance.degrees, Distance.radians]

        for make in makers { #expect((make(value) != nil) == (value >= 0)) }
        #expect((GeoCircle(center: (0, 70), radiusInRadians: value) != nil) == (value >= 0))
    }

    @Test func distancesConvertOnASphereOf6378Point1Kilometers() throws {  // 1.13
        let half = try #require(Distance.degrees(180))
        #expect(abs(half.radians - .pi) < 1e-12)
        #expect(abs(half.asDegrees() - 180) < 1e-12)
        #expect(try #require(Distance.kilometers(6_378.1)).radians == 1)
        #expect(abs(try #require(Distance.kilometers(12.5)).asKilometers() - 12.5) < 1e-9)
        #expect(abs(try #require(Distance.miles(1)).asKilometers() - 1.609344) < 1e-9)
        #expect(abs(try #require(Distance.miles(24_901)).asMiles() - 24_901) < 1e-6)
        #expect(Distance.radians(1) == Distance.kilometers(6_378.1))
        #expect(try #require(Distance.miles(1)) > #require(Distance.kilometers(1)))
    }

    @Test func boxesAndCirclesAreEqualByTheirNumbers() throws {
        #expect(GeoBox(bottomLeft: (-90, -180), topRight: (90, 180)) != nil)
        #expect(GeoBox(bottomLeft: (-91, -181), topRight: (91, 181)) == nil)
        let center = try #require(GeoPoint(latitude: 55.67, longitude: 12.56))
        let radius = try #require(Distance.radians(0.5))
        #expect(GeoCircle(center: center, radius: radius) == GeoCircle(center: (55.67, 12.56), radiusInRadians: 0.5))
        #expect(GeoCircle(center: (95, 0), radius: radius) == nil)
        #expect(GeoBox(bottomLeft: (1, 2), topRight: (3, 4)) == GeoBox(bottomLeft: (1, 2), topRight: (3, 4)))
        #expect(GeoBox(bottomLeft: (1, 2), topRight: (3, 4)) != GeoBox(bottomLeft: (1, 2), topRight: (3, 5)))
    }

    typealias Ring = [(Double, Double)]

    @Test(
        arguments: [
            ([(0, 0)], [], false),
            ([(0, 0), (1, 1), (0, 0)], [], false),
            ([(0, 0), (1, 1), (2, 2)], [], false),
            ([(0, 0), (1, 1), (2, 0), (0, 0)], [], true),
            ([(0, 0), (1, 1), (2, 0), (3, 3)], [], false),
            ([(0, 0), (91, 1), (2, 0), (0, 0)], [], false),
            ([(0, 0), (1, 1), (2, 2), (0, 0)], [[(0, 0), (1, 1), (2, 2), (0, 0)]], true),
            ([(0, 0), (1, 1), (2, 2), (0, 0)], [[(0, 0)]], false),
            (
                [(0, 0), (1, 1), (2, 2), (0, 0)],
                [[(0, 0), (1, 1), (2, 2), (0, 0)], [(0, 0), (1, 1), (2, 2), (3, 3)]], false
            ),
            ([(0, 0), (1, 1), (2, 2), (0, 0)], [[(0, 0), (1, 200), (2, 2), (0, 0)]], false),
        ] as [(Ring, [Ring], Bool)])
    func polygonsAreClosedRings(_ ring: Ring, _ holes: [Ring], _ exists: Bool) throws {  // 234
        let polygon = GeoPolygon(outerRing: ring, holes: holes)

        #expect((polygon != nil) == exists)
        guard let polygon else { return }
        #expect(polygon.outerRing.count == ring.count)
        #expect((polygon.holes?.count ?? 0) == holes.count)
        #expect((polygon.holes == nil) == holes.isEmpty)
        #expect(polygon == GeoPolygon(outerRing: ring, holes: holes))
    }

    @Test func polygonsTakeHolesOneByOne() {
        let ring: Ring = [(0, 0), (1, 1), (2, 0), (0, 0)]
        let points = ring.compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }

        #expect(GeoPolygon(outerRing: ring, holes: ring, ring)?.holes?.count == 2)
        #expect(GeoPolygon(outerRing: points, holes: points, points) == GeoPolygon(outerRing: ring, holes: ring, ring))
        #expect(GeoPolygon(outerRing: points) == GeoPolygon(outerRing: ring))
    }

    @Test func queriesAreGivenLongitudeFirst() throws {
        let box = try #require(GeoBox(bottomLeft: (1, 2), topRight: (3, 4)))
        let circle = try #require(GeoCircle(center: (5, 6), radiusInRadians: 0.5))
        let ring: Ring = [(0, 0), (1, 1), (2, 0), (0, 0)]
        let polygon = try #require(GeoPolygon(outerRing: ring, holes: ring))

        #expect(GeoShape(box)?.text == "geoBox([2.0, 1.0], [4.0, 3.0])")
        #expect(GeoShape(circle)?.text == "geoCircle([6.0, 5.0], 0.5)")
        let text = "{[0.0, 0.0], [1.0, 1.0], [0.0, 2.0], [0.0, 0.0]}"
        #expect(GeoShape(polygon)?.text == "geoPolygon(\(text), \(text))")
        #expect(GeoShape("a string") == nil)
    }
}
