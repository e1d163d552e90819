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
}

extension GeoPoint {
    fileprivate var place: MotteQueryEngine.GeoPoint {
        MotteQueryEngine.GeoPoint(longitude: longitude, latitude: latitude)
    }
}
