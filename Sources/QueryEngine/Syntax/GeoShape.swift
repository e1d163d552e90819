/// What GEOWITHIN asks about: a part of the earth's surface, in degrees.
///
///     geoBox([-74.1, 40.6], [-73.7, 40.9])                    corners: longitude, latitude
///     geoCircle([-73.9, 40.7], 0.0015)                        the radius in radians of the earth
///     geoPolygon({[0, 0], [2, 0], [1, 2], [0, 0]}, {...})     a closed ring, and holes in it
///
/// Sides of a box follow meridians and parallels; sides of a polygon are the shortest ways over the sphere.
import MotteValues

package struct GeoPoint: Sendable, Equatable {
    package var longitude: Double
    package var latitude: Double

    package init(longitude: Double, latitude: Double) {
        self.longitude = longitude
        self.latitude = latitude
    }

    package var isOnEarth: Bool { abs(longitude) <= 180 && abs(latitude) <= 90 }
}

package enum GeoShape: Sendable, Equatable {
    case box(bottomLeft: GeoPoint, topRight: GeoPoint)
    case circle(center: GeoPoint, radians: Double)
    /// The rings are closed: the last point is the first.
    case polygon(outer: [GeoPoint], holes: [[GeoPoint]])

    /// More points would take too long to check against each other.
    package static let mostPoints = 5_000

    /// What is wrong with the parts of the shape; nil for none. Whether rings cross is found out by queries.
    package var mistake: String? {
        switch self {
        case .box(let low, let high):
            if !low.isOnEarth || !high.isOnEarth { return Self.outside }
            return low.latitude > high.latitude ? "the first corner of a box is the lower left one" : nil
        case .circle(let center, let radius):
            if !center.isOnEarth { return Self.outside }
            return radius >= 0 && radius.isFinite ? nil : "the radius of a circle is not negative"
        case .polygon(let outer, let holes):
            if outer.count + holes.reduce(0, { $0 + $1.count }) > Self.mostPoints {
                return "a polygon has at most \(Self.mostPoints) points"
            }
            for ring in [outer] + holes {
                if ring.count < 4 { return "a ring has at least three different points, and ends with the first" }
                if ring.first != ring.last { return "a ring ends with the point it begins with" }
                if !ring.allSatisfy(\.isOnEarth) { return Self.outside }
            }
            return nil
        }
    }

    private static let outside = "longitudes are from -180 to 180, latitudes from -90 to 90"

    package var text: String {
        switch self {
        case .box(let low, let high): "geoBox(" + Self.text(low) + ", " + Self.text(high) + ")"
        case .circle(let center, let radius): "geoCircle(" + Self.text(center) + ", \(radius))"
        case .polygon(let outer, let holes):
            "geoPolygon("
                + ([outer] + holes).map { ring in
                    "{" + ring.map(Self.text).joined(separator: ", ") + "}"
                }.joined(separator: ", ") + ")"
        }
    }

    /// For messages: a polygon may have thousands of points.
    package var shortText: String {
        let text = text
        return text.utf8.count <= 200 ? text : String(text.prefix(200)) + "..."
    }

    private static func text(_ point: GeoPoint) -> String { "[\(point.longitude), \(point.latitude)]" }

    /// The text of a shape and nothing else: how shapes travel as arguments.
    package static func parse(_ text: String) throws(DatabaseError) -> GeoShape { try Parser.parseShape(text) }
}
