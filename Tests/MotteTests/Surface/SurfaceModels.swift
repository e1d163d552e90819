// Models and functions that use every signature programs written for RealmSwift use: names, labels, defaults, nesting
// of types. What is in this folder is checked by compiling it; what it does is the matter of the other tests.
import Dispatch
import Foundation
import Motte

enum Genre: String, PersistableEnum { case jazz, rock, folk }
enum Stars: Int, PersistableEnum {
    case one = 1
    case two, three
}

struct Duration64: CustomPersistable {
    typealias PersistedType = Int64
    var seconds: Int64
    init(persistedValue: Int64) { seconds = persistedValue }
    var persistableValue: Int64 { seconds }
}

struct Link: FailableCustomPersistable, Equatable {
    typealias PersistedType = String
    let text: String
    init?(persistedValue: String) {
        guard persistedValue.contains(":") else { return nil }
        text = persistedValue
    }
    var persistableValue: String { text }
}

class Sleeve: EmbeddedObject, ObjectKeyIdentifiable {
    @Persisted var colour = "black"
    @Persisted var pages: List<String>
    @Persisted var insert: Sleeve?
}

class Venue: EmbeddedObject {
    @Persisted var type: String = "Point"
    @Persisted private var coordinates: List<Double>
    convenience init(latitude: Double, longitude: Double) {
        self.init()
        coordinates.append(objectsIn: [longitude, latitude])
    }
}

class Track: Object, ObjectKeyIdentifiable {
    @Persisted(primaryKey: true) var id = ObjectId.generate()
    @Persisted(indexed: true) var title: String
    @Persisted(indexed: true) var rating: Stars = .two
    @Persisted(indexed: true) var extra: AnyRealmValue
    @Persisted var genre: Genre?
    @Persisted var length: Duration64
    @Persisted var address: Link?
    @Persisted var plays = 0
    @Persisted var gain: Double?
    @Persisted var price: Decimal128 = 1.5
    @Persisted var released: Date
    @Persisted var cover: Data?
    @Persisted var isLive = false
    @Persisted var album: Album?
    @Persisted(originProperty: "tracks") var albums: LinkingObjects<Album>
}

class Album: Object {
    @Persisted(primaryKey: true) var id: UUID
    @Persisted(wrappedValue: "untitled", indexed: true) var name: String
    @Persisted var tracks: List<Track>
    @Persisted var numbers: List<Int>
    @Persisted var gains: List<Double?>
    @Persisted var genres: List<Genre>
    @Persisted var genreSet: MutableSet<Genre?>
    @Persisted var tags: MutableSet<String>
    @Persisted var trackSet: MutableSet<Track>
    @Persisted var counts: Map<String, Int>
    @Persisted var notes: Map<String, String?>
    @Persisted var genreMap: Map<String, Genre>
    @Persisted var trackMap: Map<String, Track?>
    @Persisted var lengths: List<Duration64>
    @Persisted var sleeve: Sleeve?
    @Persisted var sleeves: List<Sleeve>
    @Persisted var venue: Venue?
    @Persisted var anything: List<AnyRealmValue>
    override class func indexedProperties() -> [String] { [] }
    override class func ignoredProperties() -> [String] { [] }
}

class Codec: Object, Codable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String?
    @Persisted var values: List<Int>
    @Persisted var words: MutableSet<String>
    @Persisted var map: Map<String, Double>
    @Persisted var decimal: Decimal128
    @Persisted var oid: ObjectId
    @Persisted var genre: Genre2
}
enum Genre2: String, PersistableEnum, Codable { case one, two }
