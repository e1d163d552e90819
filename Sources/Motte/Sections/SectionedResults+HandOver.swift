/// Sections are handed over by way of the collection that they group, and grouped again where they arrive.
import MotteLiveObjects
import MotteValues

extension HandedOver where Self: RealmSectionedResult {
    func handOver<T>() -> HandOver.Subject<T>? {
        guard let base = HandOver.reference(to: _sections.base) else { return nil }
        let (keyOf, key) = (_sections.keyOf, _onlyKey)
        return HandOver.Subject(reference: base.reference) { (reference, core) throws(DatabaseError) in
            try base.rebuild(reference, core).flatMap { Self._make(_Sections($0, keyOf), key) as? T }
        }
    }
}

extension SectionedResults: HandedOver {}
extension ResultsSection: HandedOver {}
