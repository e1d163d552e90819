/// The engine's tree, under a name that Foundation does not have too.
import MotteQueryEngine

package typealias QueryPredicate = MotteQueryEngine.Predicate
