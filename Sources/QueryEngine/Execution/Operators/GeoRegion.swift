/// A shape, prepared for asking about many points.
///
/// Points are unit vectors. A circle is all that is no further from its centre than a chord. A polygon lies on one half
/// of the sphere; seen from the centre of the earth, that half is a plane on which the shortest ways are straight
/// lines, so the question becomes the one of a plane polygon, exactly.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package struct GeoRegion: Sendable {
    private enum Form: Sendable {
        case box(low: GeoPoint, high: GeoPoint)
        /// The square of the longest chord.
        case cap(center: SIMD3<Double>, chord: Double)
        case rings(Plane, [[SIMD2<Double>]])
    }

    private let form: Form

    /// The shape has no `mistake`; rings that cross are found here.
    package init(_ shape: GeoShape) throws(DatabaseError) {
        switch shape {
        case .box(let low, let high): form = .box(low: low, high: high)
        case .circle(let center, let radius):
            let half = sin(min(radius, .pi) / 2)
            form = .cap(center: Self.vector(center), chord: radius >= .pi ? .infinity : 4 * half * half)
        case .polygon(let outer, let holes):
            let vectors = ([outer] + holes).map { ring in ring.dropLast().map(Self.vector) }
            guard let plane = Plane(facing: vectors.flatMap { $0 }) else {
                throw DatabaseError(.queryInvalid, "a polygon must fit on one half of the earth")
            }
            var rings: [[SIMD2<Double>]] = []
            for ring in vectors { rings.append(ring.compactMap { plane.project($0) }) }
            if let mistake = GeoRings.mistake(rings) { throw DatabaseError(.queryInvalid, mistake) }
            form = .rings(plane, rings)
        }
    }

    /// Borders belong to boxes and circles; of polygons to one of two that share them.
    package func contains(_ point: GeoPoint) -> Bool {
        guard point.isOnEarth else { return false }
        switch form {
        case .box(let low, let high):
            guard point.latitude >= low.latitude, point.latitude <= high.latitude else { return false }
            // One whose left side is right of its right side reaches over the 180th meridian.
            return low.longitude <= high.longitude
                ? point.longitude >= low.longitude && point.longitude <= high.longitude
                : point.longitude >= low.longitude || point.longitude <= high.longitude
        case .cap(let center, let chord):
            let way = Self.vector(point) - center
            return (way * way).sum() <= chord
        case .rings(let plane, let rings):
            guard let place = plane.project(Self.vector(point)) else { return false }
            var isInside = false
            // Of a valid polygon's rings a point is in none, in the outer one, or in that and one hole.
            for ring in rings where GeoRings.contains(ring, place) { isInside.toggle() }
            return isInside
        }
    }

    private static func vector(_ point: GeoPoint) -> SIMD3<Double> {
        let (longitude, latitude) = (point.longitude * .pi / 180, point.latitude * .pi / 180)
        return SIMD3(cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    }

    /// Touches the sphere in the middle of its cap.
    struct Plane: Sendable {
        private let normal: SIMD3<Double>
        private let right: SIMD3<Double>
        private let up: SIMD3<Double>

        /// nil where no half of the sphere holds all points.
        init?(facing points: [SIMD3<Double>]) {
            var middle = points.reduce(SIMD3<Double>.zero, +)
            // Leaning towards who is furthest away finds such a half, if there is one with room to spare.
            for _ in 0 ..< 1_000 {
                let length = (middle * middle).sum().squareRoot()
                if length > 0 { middle /= length }
                var worst = Double.infinity
                var furthest = SIMD3<Double>.zero
                for point in points {
                    let height = (point * middle).sum()
                    if height < worst { (worst, furthest) = (height, point) }
                }
                if worst > 1e-9 {
                    normal = middle
                    let helper: SIMD3<Double> = abs(middle.z) < 0.9 ? SIMD3(0, 0, 1) : SIMD3(1, 0, 0)
                    let across = Self.cross(helper, middle)
                    right = across / (across * across).sum().squareRoot()
                    up = Self.cross(middle, right)
                    return
                }
                middle += furthest * 0.5
            }
            return nil
        }

        /// nil for the other half.
        func project(_ point: SIMD3<Double>) -> SIMD2<Double>? {
            let height = (point * normal).sum()
            guard height > 0 else { return nil }
            return SIMD2((point * right).sum() / height, (point * up).sum() / height)
        }

        private static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
            SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }
    }
}

/// Rings in a plane; the last point is joined to the first.
enum GeoRings {
    static func contains(_ ring: [SIMD2<Double>], _ point: SIMD2<Double>) -> Bool {
        var isInside = false
        var before = ring.count - 1
        for index in ring.indices {
            let (a, b) = (ring[index], ring[before])
            if (a.y > point.y) != (b.y > point.y), point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x {
                isInside.toggle()
            }
            before = index
        }
        return isInside
    }

    /// What is wrong with an outer ring and its holes; nil for none.
    static func mistake(_ rings: [[SIMD2<Double>]]) -> String? {
        for ring in rings {
            for index in ring.indices where ring[index] == ring[(index + 1) % ring.count] {
                return "a ring names the same point twice in a row"
            }
        }
        for (one, ring) in rings.enumerated() {
            for other in one ..< rings.count where doCross(ring, rings[other], isSame: one == other) {
                return (one == other ? "the sides of a ring" : "two rings") + " cross or touch each other"
            }
        }
        guard let outer = rings.first else { return nil }
        for (index, hole) in rings.enumerated().dropFirst() {
            guard let point = hole.first else { continue }
            if !contains(outer, point) { return "a hole lies outside of its polygon" }
            for (other, ring) in rings.enumerated().dropFirst() where other != index && contains(ring, point) {
                return "a hole lies inside another"
            }
        }
        return nil
    }

    private static func doCross(_ one: [SIMD2<Double>], _ other: [SIMD2<Double>], isSame: Bool) -> Bool {
        for first in one.indices {
            let (a, b) = (one[first], one[(first + 1) % one.count])
            for second in (isSame ? first + 1 : 0) ..< other.count {
                // Neighbours share a point.
                if isSame, second == first + 1 || (first == 0 && second == one.count - 1) { continue }
                if intersects(a, b, other[second], other[(second + 1) % other.count]) { return true }
            }
        }
        return false
    }

    private static func intersects(
        _ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>, _ d: SIMD2<Double>
    ) -> Bool {
        let (one, two, three, four) = (side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b))
        if one == 0, isBetween(a, b, c) { return true }
        if two == 0, isBetween(a, b, d) { return true }
        if three == 0, isBetween(c, d, a) { return true }
        if four == 0, isBetween(c, d, b) { return true }
        return (one > 0) != (two > 0) && (three > 0) != (four > 0) && one != 0 && two != 0 && three != 0 && four != 0
    }

    private static func side(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Double {
        (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    }

    /// Of three points on one line.
    private static func isBetween(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Bool {
        c.x >= min(a.x, b.x) && c.x <= max(a.x, b.x) && c.y >= min(a.y, b.y) && c.y <= max(a.y, b.y)
    }
}
