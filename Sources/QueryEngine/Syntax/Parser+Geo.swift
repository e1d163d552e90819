/// `geoBox([x, y], [x, y])`, `geoCircle([x, y], radius)` and `geoPolygon({[x, y], ...}, {...}, ...)`, behind GEOWITHIN.
import MotteValues

extension Parser {
    static func parseShape(_ text: String) throws(DatabaseError) -> GeoShape {
        var parser = try Parser(QuerySource(text))
        let shape = try parser.shape()
        guard parser.token.kind == .end else { throw parser.unexpected("the end of the shape") }
        return shape
    }

    /// Whether a shape begins here.
    var startsShape: Bool {
        guard case .name(let word, isQuoted: false) = token.kind else { return false }
        return ["geobox", "geocircle", "geopolygon"].contains(word.lowercased())
    }

    mutating func shape() throws(DatabaseError) -> GeoShape {
        let start = token
        guard startsShape, case .name(let word, _) = start.kind else {
            throw unexpected("geoBox(...), geoCircle(...), geoPolygon(...) or an argument")
        }
        advance()
        try expect(.openParenthesis, "'('")
        let shape: GeoShape
        switch word.lowercased() {
        case "geobox":
            let low = try point()
            try expect(.comma, "',' and the upper right corner")
            shape = .box(bottomLeft: low, topRight: try point())
        case "geocircle":
            let center = try point()
            try expect(.comma, "',' and the radius in radians")
            shape = .circle(center: center, radians: try number())
        default:
            let outer = try ring()
            var holes: [[GeoPoint]] = []
            while take(.comma) { holes.append(try ring()) }
            shape = .polygon(outer: outer, holes: holes)
        }
        try expect(.closeParenthesis, "')'")
        if let mistake = shape.mistake { throw source.error(.queryInvalid, mistake, at: start.position) }
        return shape
    }

    private mutating func ring() throws(DatabaseError) -> [GeoPoint] {
        try expect(.openBrace, "'{' and the points of a ring")
        var points: [GeoPoint] = []
        repeat { points.append(try point()) } while take(.comma)
        try expect(.closeBrace, "',' or '}'")
        return points
    }

    /// Longitude and latitude; an altitude may follow and means nothing.
    private mutating func point() throws(DatabaseError) -> GeoPoint {
        try expect(.openBracket, "a point, [longitude, latitude],")
        let longitude = try number()
        try expect(.comma, "',' and the latitude")
        let latitude = try number()
        if take(.comma) { _ = try number() }
        try expect(.closeBracket, "']'")
        return GeoPoint(longitude: longitude, latitude: latitude)
    }

    private mutating func number() throws(DatabaseError) -> Double {
        guard case .constant(let value) = token.kind, let number = ConstantFit.double(value) else {
            throw unexpected("a number")
        }
        advance()
        return number
    }
}
