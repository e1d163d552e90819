/// The shapes of programs as those of the engine.
import MotteQueryEngine

extension GeoShape {
    /// nil for what is no shape.
    package init?(_ value: Any?) {
        switch value {
        case let box as GeoBox: self = .box(bottomLeft: box.bottomLeft.place, topRight: box.topRight.place)
        case let circle as GeoCircle: self = .circle(center: circle.center.place, radians: circle.radiusInRadians)
        case let polygon as GeoPolygon:
            self = .polygon(
                outer: polygon.outerRing.map(\.place), holes: (polygon.holes ?? []).map { $0.map(\.place) })
        default: return nil
        }
    }

    /// As a program has it; nil for what it cannot be made of.
    var value: (any RLMGeospatial)? {
        switch self {
        case .box(let first, let second):
            guard let bottomLeft = first.point, let topRight = second.point else { return nil }
            return GeoBox(bottomLeft: bottomLeft, topRight: topRight)
        case .circle(let center, let radians):
            return center.point.flatMap { GeoCircle(center: $0, radiusInRadians: radians) }
        case .polygon(let outer, let holes):
            let rings = ([outer] + holes).map { $0.compactMap(\.point) }
            return GeoPolygon(outerRing: rings[0], holes: Array(rings.dropFirst()))
        }
    }
}

extension MotteQueryEngine.GeoPoint {
    fileprivate var point: GeoPoint? { GeoPoint(latitude: latitude, longitude: longitude) }
}

extension GeoPoint {
    fileprivate var place: MotteQueryEngine.GeoPoint {
        MotteQueryEngine.GeoPoint(longitude: longitude, latitude: latitude)
    }
}
