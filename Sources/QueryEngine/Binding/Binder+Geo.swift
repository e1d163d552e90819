/// GEOWITHIN: a path to embedded objects that are GeoJSON points, and a shape.
///
/// A point is an object of an embedded class with a string `type`, which says "Point", and a list of doubles
/// `coordinates`: longitude, latitude and perhaps an altitude. What is no such point is in no shape.
import MotteSchemaModel
import MotteValues

package struct GeoTest: Sendable {
    package let type: ColumnKey
    package let coordinates: ColumnKey
    package let region: GeoRegion
}

extension Binder {
    func bindGeo(
        _ path: Predicate.Path, _ operand: Predicate.Operand, at position: SourcePosition
    ) throws(DatabaseError) -> BoundPredicate {
        var bound = try resolve(path)
        guard path.collectionOperator == nil, let target = bound.targetTable, let type = resolver.schema[target] else {
            throw failure("\(bound.name) is no embedded object; GEOWITHIN needs GeoJSON points", at: path.position)
        }
        switch bound.end {
        case .object: break
        case .column(let column, .link, _):
            bound.steps.append(
                PathStep(kind: .link, origin: bound.table, target: target, column: column, name: bound.name))
        case .column, .elements, .keys, .access:
            throw failure("\(bound.name) is no embedded object; GEOWITHIN needs GeoJSON points", at: path.position)
        }
        guard bound.isToMany == (path.quantifier != nil) else {
            throw failure(
                bound.isToMany
                    ? "\(bound.name) is reached through a list; say ANY, ALL or NONE before the path"
                    : "\(bound.name) is a single value; ANY, ALL and NONE need a list", at: path.position)
        }
        let test = BoundPredicate.geo(try geoTest(type, try shape(operand), path, operand))
        let isAll = path.quantifier == .all
        let whole = Self.wrapped(isAll ? .not(test) : test, bound.steps[...], nullPasses: false)
        return isAll || path.quantifier == Predicate.Quantifier.none ? .not(whole) : whole
    }

    private func geoTest(
        _ type: ObjectType, _ shape: GeoShape, _ path: Predicate.Path, _ operand: Predicate.Operand
    ) throws(DatabaseError) -> GeoTest {
        guard type.isEmbedded, let kind = type.property(named: "type"), kind.type == .string, !kind.isCollection,
            let place = type.property(named: "coordinates"), place.type == .double, place.collection == .list,
            let kindColumn = kind.columnKey, let placeColumn = place.columnKey
        else {
            throw failure(
                "\(type.name) is no class of GeoJSON points: they are embedded and have type: string and "
                    + "coordinates: list<double>", at: path.position)
        }
        do throws(DatabaseError) {
            return GeoTest(type: kindColumn, coordinates: placeColumn, region: try GeoRegion(shape))
        } catch {
            throw failure(
                "Invalid region in GEOWITHIN query for parameter '\(shape.shortText)': '\(error.message)'",
                at: operand.position)
        }
    }

    private func shape(_ operand: Predicate.Operand) throws(DatabaseError) -> GeoShape {
        switch operand {
        case .shape(let shape, let position):
            if let mistake = shape.mistake {
                throw failure(
                    "Invalid region in GEOWITHIN query for parameter '\(shape.shortText)': '\(mistake)'", at: position)
            }
            return shape
        case .constant, .argument:
            guard case .string(let text) = try value(operand) else {
                throw failure("a shape is a text such as geoCircle([0, 0], 0.1)", at: operand.position, .queryArgument)
            }
            do throws(DatabaseError) {
                return try GeoShape.parse(text)
            } catch {
                throw failure(error.message, at: operand.position, .queryArgument)
            }
        case .path, .subquery, .list, .arithmetic, .now:
            throw failure("GEOWITHIN needs a shape on its right, such as geoBox([0, 0], [1, 1])", at: operand.position)
        }
    }
}
