/// Points on the earth and the shapes that queries look for them in.
///
/// Points are stored as embedded objects in GeoJSON's form (`type` "Point", `coordinates` of longitude and latitude);
/// the types here only say where to look: `where { $0.location.geoWithin(shape) }`, `filter("location IN %@", shape)`.
/// What can be seen to be wrong when a shape is made (out of range, too few points, a ring that is not closed) makes
/// nil; a ring that crosses itself or a hole outside is found by the query.
import Foundation

/// What `geoWithin` takes: `GeoBox`, `GeoCircle` or `GeoPolygon`.
///
/// As an argument of a C function, which is what `CVarArg` is about, a shape is nothing: predicates take shapes as they
/// are.
public protocol RLMGeospatial: CVarArg {}

extension RLMGeospatial {
    /// Nothing: no C function can do anything with a shape.
    public var _cVarArgEncoding: [Int] { [] }
}

/// A point by latitude (-90 to 90) and longitude (-180 to 180) in degrees, and its altitude, which queries ignore.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north of the equator; south of it they are negative.
    public let latitude: Double
    /// Degrees east of Greenwich; west of it they are negative.
    public let longitude: Double
    /// Metres; queries ignore it.
    public let altitude: Double

    /// nil when one of the numbers is out of its range or not a number.
    public init?(latitude: Double, longitude: Double, altitude: Double = 0) {
        // NaN is in no range.
        guard (-90 ... 90).contains(latitude), (-180 ... 180).contains(longitude), altitude >= 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
    }

    package init?(_ pair: (Double, Double)) { self.init(latitude: pair.0, longitude: pair.1) }
}

/// A distance on the earth's surface, taken to be a sphere of 6378.1 km radius.
public struct Distance: Hashable, Sendable {
    /// The angle at the centre of the earth.
    public let radians: Double

    private init?(checked radians: Double) {
        guard radians >= 0 else { return nil }
        self.radians = radians
    }

    private static let kilometersPerRadian = 6_378.1
    private static let kilometersPerMile = 1.609344

    /// A distance in kilometres; nil when negative or NaN.
    public static func kilometers(_ value: Double) -> Distance? { Distance(checked: value / kilometersPerRadian) }
    /// A distance in miles of 1.609344 km; nil when negative or NaN.
    public static func miles(_ value: Double) -> Distance? {
        Distance(checked: value * kilometersPerMile / kilometersPerRadian)
    }
    /// A distance as an angle at the centre of the earth, in degrees; nil when negative or NaN.
    public static func degrees(_ value: Double) -> Distance? { Distance(checked: value * .pi / 180) }
    /// A distance as an angle at the centre of the earth, in radians; nil when negative or NaN.
    public static func radians(_ value: Double) -> Distance? { Distance(checked: value) }

    /// The distance in kilometres.
    public func asKilometers() -> Double { radians * Self.kilometersPerRadian }
    /// The distance in miles of 1.609344 km.
    public func asMiles() -> Double { radians * Self.kilometersPerRadian / Self.kilometersPerMile }
    /// The angle at the centre of the earth in degrees.
    public func asDegrees() -> Double { radians * 180 / .pi }
}

/// All points within a distance of its centre.
public struct GeoCircle: RLMGeospatial, Hashable, Sendable {
    /// The point in the middle.
    public let center: GeoPoint
    /// The distance, as an angle at the centre of the earth.
    public let radiusInRadians: Double

    /// A circle around a point.
    public init(center: GeoPoint, radius: Distance) {
        self.center = center
        radiusInRadians = radius.radians
    }

    /// A circle around a point; nil when the radius is negative or NaN.
    public init?(center: GeoPoint, radiusInRadians: Double) {
        guard radiusInRadians >= 0 else { return nil }
        self.center = center
        self.radiusInRadians = radiusInRadians
    }

    /// A circle around a latitude and longitude in degrees; nil when these are out of range, or the radius is negative
    /// or NaN.
    public init?(center: (Double, Double), radiusInRadians: Double) {
        guard let point = GeoPoint(center) else { return nil }
        self.init(center: point, radiusInRadians: radiusInRadians)
    }

    /// A circle around a latitude and longitude; nil when these are out of range.
    public init?(center: (Double, Double), radius: Distance) {
        guard let point = GeoPoint(center) else { return nil }
        self.init(center: point, radius: radius)
    }
}

/// All points between two latitudes and two longitudes.
public struct GeoBox: RLMGeospatial, Hashable, Sendable {
    /// The corner in the south-west.
    public let bottomLeft: GeoPoint
    /// The corner in the north-east.
    public let topRight: GeoPoint

    /// A box between two corners.
    public init(bottomLeft: GeoPoint, topRight: GeoPoint) {
        self.bottomLeft = bottomLeft
        self.topRight = topRight
    }

    /// A box between two corners, each a latitude and longitude in degrees; nil when these are out of range.
    public init?(bottomLeft: (Double, Double), topRight: (Double, Double)) {
        guard let first = GeoPoint(bottomLeft), let second = GeoPoint(topRight) else { return nil }
        self.init(bottomLeft: first, topRight: second)
    }
}

/// All points inside a ring of points and outside the rings that are holes in it.
///
/// A ring has at least three different corners and ends where it begins, so at least four points.
public struct GeoPolygon: RLMGeospatial, Hashable, Sendable {
    /// The corners, of which the last is the first again.
    public let outerRing: [GeoPoint]
    /// The rings that do not belong to the area; nil when there are none.
    public let holes: [[GeoPoint]]?

    /// A polygon; nil unless each ring has four points or more and ends where it begins.
    public init?(outerRing: [GeoPoint], holes: [[GeoPoint]] = []) {
        guard Self.isClosedRing(outerRing), holes.allSatisfy(Self.isClosedRing) else { return nil }
        self.outerRing = outerRing
        self.holes = holes.isEmpty ? nil : holes
    }

    /// A polygon; nil unless each ring has four points or more and ends where it begins.
    public init?(outerRing: [GeoPoint], holes: [GeoPoint]...) {
        self.init(outerRing: outerRing, holes: holes)
    }

    /// A polygon of latitudes and longitudes in degrees; nil unless each ring has four points or more, within their
    /// ranges, and ends where it begins.
    public init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]] = []) {
        guard let ring = Self.points(outerRing) else { return nil }
        let rings = holes.compactMap(Self.points)
        guard rings.count == holes.count else { return nil }
        self.init(outerRing: ring, holes: rings)
    }

    /// A polygon of latitudes and longitudes in degrees; nil unless each ring has four points or more, within their
    /// ranges, and ends where it begins.
    public init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...) {
        self.init(outerRing: outerRing, holes: holes)
    }

    private static func isClosedRing(_ ring: [GeoPoint]) -> Bool { ring.count >= 4 && ring.first == ring.last }

    /// nil when one is out of range.
    private static func points(_ pairs: [(Double, Double)]) -> [GeoPoint]? {
        let points = pairs.compactMap { GeoPoint($0) }
        return points.count == pairs.count ? points : nil
    }
}

extension Distance: Comparable {
    /// The order of lengths.
    public static func < (left: Distance, right: Distance) -> Bool { left.radians < right.radians }
}
