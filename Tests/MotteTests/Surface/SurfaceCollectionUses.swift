// Uses of collections, maps and values (see SurfaceModels.swift).
import Dispatch
import Foundation
import Motte

func useAny<C: RealmCollection>(_ collection: C) -> [C.Element] where C.Element: Object {
    let _: C.ElementType? = collection.first
    return collection.filter("TRUEPREDICATE").map { $0 } + collection.map { $0 }
}

func useValues<C: RealmCollection>(_ collection: C) -> String where C.Element == Int { "\(collection.sum())" }

func useCollections(_ album: Album, _ tracks: Results<Track>) {
    let list = album.tracks
    _ = useAny(list) + useAny(tracks) + useAny(album.trackSet) + useAny(tracks[0].albums).flatMap { Array($0.tracks) }
    _ = useValues(album.numbers)
    let any = AnyRealmCollection(tracks)
    _ = [AnyRealmCollection(list), any, AnyRealmCollection(album.trackSet)]
    let _: AnyRealmCollection<Int> = AnyRealmCollection(album.numbers)
    let _: (Realm?, Bool, Bool, Bool) = (list.realm, list.isInvalidated, list.isFrozen, list.isEmpty)
    let _: (List<Track>, List<Track>?, Results<Track>?) = (list.freeze(), list.thaw(), tracks.freeze().thaw())
    let _: (Int, Track?, Track?, Int, Int) = (list.count, list.first, list.last, list.startIndex, list.endIndex)
    let _: String = list.description + tracks.description
    _ = list == list && tracks == tracks
    let _: Int? = list.index(of: tracks[0])
    let _: Int? = list.index(matching: NSPredicate(format: "title == %@", "x"))
    let _: Int? = list.index(matching: "title == %@", "x")
    let _: Int? = list.index(matching: { $0.title == "x" })
    let _: [Track] = tracks.objects(at: IndexSet([0, 1]))
    let _: Results<Track> = tracks.filter("title == %@ AND plays > %d", "x", 5)
    let _: Results<Track> = tracks.filter(NSPredicate(format: "plays IN %@", [1, 2]))
    let _: Results<Track> = tracks.filter(NSPredicate(format: "%K == $0", argumentArray: ["plays", 1]))
    let _: [Track] = tracks.filter { $0.plays > 3 }
    let _: Results<Track> = tracks.where { $0.plays > 3 }
    let _: Results<Track> = tracks.sorted(byKeyPath: "title").sorted(byKeyPath: "plays", ascending: false)
    let _: Results<Track> = tracks.sorted(by: \.title).sorted(by: \.plays, ascending: false)
    let _: Results<Track> = tracks.sorted(by: [SortDescriptor(keyPath: "title", ascending: false), "plays"])
    let _: Results<Track> = tracks.sorted(by: [SortDescriptor(keyPath: \Track.title)])
    let _: [Track] = tracks.sorted { $0.title < $1.title }
    let descriptor = SortDescriptor(keyPath: "title").reversed()
    let _: (String, Bool, String) = (descriptor.keyPath, descriptor.ascending, descriptor.description)
    let _: Results<Track> = tracks.distinct(by: ["title"]).distinct(by: [\Track.title, \Track.plays])
    let _: Results<Int> = album.numbers.sorted().distinct()
    let _: Results<Int> = album.numbers.sorted(ascending: false)
    let _: (Int?, Int?, Int, Double?) = (
        tracks.min(ofProperty: "plays"), tracks.max(ofProperty: "plays"), tracks.sum(ofProperty: "plays"),
        tracks.average(ofProperty: "plays")
    )
    let _: (Int?, Double??, Int, Int?) = (
        tracks.min(of: \.plays), tracks.max(of: \.gain), tracks.sum(of: \.plays), tracks.average(of: \.plays)
    )
    let average: Double? = tracks.average(ofProperty: "gain")
    let _: (Int?, Int?, Int, Double?) = (
        album.numbers.min(), album.numbers.max(), album.numbers.sum(), album.numbers.average()
    )
    let _: (Double??, Double?) = (album.gains.max(), album.gains.sum())
    _ = average
    let _: Any? = tracks.value(forKey: "title")
    let _: Any? = tracks.value(forKeyPath: "@sum.plays")
    let _: [AnyObject] = list.value(forKey: "title")
    tracks.setValue(3, forKey: "plays")
    for track in tracks { _ = track.title }
    _ = tracks.map(\.title).joined()
    _ = tracks.lazy.filter { $0.plays > 1 }.first
    _ = Array(tracks.prefix(10)) + Array(tracks[0 ..< 2])
    _ = tracks.reversed().first
    _ = tracks.enumerated().map { $0.offset }

    let handle: (RealmCollectionChange<Results<Track>>) -> Void = { change in
        switch change {
        case .initial(let results): _ = results.count
        case .update(let results, let deletions, let insertions, let modifications):
            _ = (results.count, deletions + insertions + modifications)
        case .error(let error): _ = error.localizedDescription
        }
    }
    _ = tracks.observe(handle)
    _ = tracks.observe(keyPaths: ["title"], handle)
    _ = tracks.observe(on: DispatchQueue(label: "q"), handle)
    _ = tracks.observe(keyPaths: [\.title], on: nil, handle)
    _ = list.observe { (_: RealmCollectionChange<List<Track>>) in }
    _ = album.numbers.observe { _ in }
    _ = album.trackSet.observe(keyPaths: ["title"]) { _ in }
    _ = any.observe { _ in }

    list.append(tracks[0])
    list.append(objectsIn: tracks)
    list.insert(tracks[0], at: 0)
    list.insert(contentsOf: Array(tracks), at: 0)
    list.remove(at: 0)
    list.remove(atOffsets: IndexSet([0]))
    list.removeAll()
    list.removeFirst()
    list.removeFirst(2)
    list.removeLast()
    list.removeLast(2)
    list.removeSubrange(0 ..< 2)
    list.removeSubrange(0...)
    list.replaceSubrange(0 ..< 1, with: [tracks[0]])
    list.replace(index: 0, object: tracks[0])
    list.move(from: 0, to: 1)
    list.move(fromOffsets: IndexSet([0]), toOffset: 2)
    list.swapAt(0, 1)
    list[0] = tracks[1]
    album.numbers[0 ..< 2] = List<Int>()[0 ..< 0]
    let set = album.trackSet
    _ = set.contains(tracks[0]) || set.intersects(set) || set.isSubset(of: set)
    set.insert(tracks[0])
    set.insert(objectsIn: tracks)
    set.remove(tracks[0])
    set.removeAll()
    set.formUnion(set)
    set.subtract(set)
    set.formIntersection(set)
    _ = (album.tags.first, album.tags[0], album.tags.sorted().first)
}

func useCollections(on actor: Librarian, _ album: Album, _ tracks: Results<Track>) async {
    let _: NotificationToken = await tracks.observe(on: MainActor.shared) { _, change in
        if case .update(let tracks, _, _, _) = change { _ = tracks.count }
    }
    _ = await tracks.observe(keyPaths: ["title"], on: MainActor.shared) { _, _ in }
    _ = await tracks.observe(keyPaths: [\.title], on: MainActor.shared) { _, _ in }
    _ = await album.counts.observe(on: MainActor.shared) { _, _ in }
    _ = await album.trackMap.observe(keyPaths: [\Track.title], on: MainActor.shared) { _, _ in }
}

func useKeyed<M: RealmKeyedCollection>(_ map: M) -> (Int, [M.Key], [M.Value]) { (map.count, map.keys, map.values) }

func useMaps(_ album: Album) {
    let map = album.counts
    _ = useKeyed(map)
    let _: Int? = map["a"]
    map["a"] = 1
    map["b"] = nil
    map["c", default: 0] += 1
    let _: String?? = album.notes["x"]
    let _: Track?? = album.trackMap["x"]
    album.trackMap["x"] = Track()
    let _: (Int, [String], [Int]) = (map.count, map.keys, map.values)
    let _: AnyObject? = map.object(forKey: "a" as NSString)
    let _: AnyObject? = map.value(forKey: "a")
    let _: AnyObject? = map.value(forKeyPath: "a")
    map.setValue(3, forKey: "a")
    map.updateValue(3, forKey: "a")
    map.merge(["a": 1].map { (key: $0.key, value: $0.value) }, uniquingKeysWith: +)
    map.merge(map) { old, _ in old }
    map.removeObject(for: "a")
    map.removeAll()
    let _: Results<Int> = map.filter(NSPredicate(format: "self > 1"))
    let _: Results<Track?> = album.trackMap.where { $0.plays > 1 }
    let _: Bool = map.contains { key, value in key == "a" && value == 1 }
    let _: Results<Int> = map.sorted().sorted(ascending: false)
    let _: Results<Track?> = album.trackMap.sorted(byKeyPath: "title")
    let _: Results<Track?> = album.trackMap.sorted(by: \.title, ascending: false)
    let _: Results<Track?> = album.trackMap.sorted(by: [SortDescriptor(keyPath: "title")])
    let _: (Int?, Int?, Int, Double?) = (map.min(), map.max(), map.sum(), map.average())
    let _: (Int?, Int?, Int, Double?) = (
        album.trackMap.min(of: \.plays), album.trackMap.max(ofProperty: "plays"), album.trackMap.sum(of: \.plays),
        album.trackMap.average(ofProperty: "plays")
    )
    for entry in map { let _: (String, Int) = (entry.key, entry.value) }
    for (key, value) in map.asKeyValueSequence() { let _: (String, Int) = (key, value) }
    let _: SingleMapEntry<String, Int>? = map.first { $0.value > 1 }
    _ = map.observe { change in
        switch change {
        case .initial(let map): _ = map.count
        case .update(let map, let deletions, let insertions, let modifications):
            let _: (Int, [String]) = (map.count, deletions + insertions + modifications)
        case .error: break
        }
    }
    _ = album.trackMap.observe(keyPaths: ["title"], on: .main) { _ in }
    let _: (Map<String, Int>, Map<String, Int>?, Bool) = (map.freeze(), map.thaw(), map.isFrozen || map.isInvalidated)
    _ = map == map
}

func useSurfaceValues(_ number: NSNumber) throws {
    let id = try ObjectId(string: "65f0c0ffee65f0c0ffee65f0")
    _ = ObjectId("65f0c0ffee65f0c0ffee65f0")
    _ = ObjectId(timestamp: Date(), machineId: 1, processId: 2)
    let _: (Date, String, String, Bool) = (id.timestamp, id.stringValue, id.description, id < ObjectId.generate())
    var decimal: Decimal128 = "1.5"
    decimal = Decimal128(value: 3)
    decimal = Decimal128(number: number)
    decimal = try Decimal128(string: "2")
    decimal = Decimal128(2.5)
    decimal = Decimal128(exactly: 3) ?? 0
    decimal = decimal + 1 - 2 * 3 / 4
    decimal *= 2
    decimal = .min
    decimal = .max + Decimal128.minimumDecimalNumber + Decimal128.maximumDecimalNumber
    _ = (decimal.magnitude, decimal.isNaN, decimal.isSignaling, decimal.isSignalingNaN, decimal.doubleValue)
    _ = (decimal.stringValue, decimal.description, decimal.distance(to: 1), decimal.advanced(by: 1), decimal < 2)
    _ = decimal.isGreaterThan(1)
    decimal.negate()
    var value: AnyRealmValue = "text"
    value = 1
    value = 1.5
    value = true
    value = nil
    value = [1, "two", ["three": nil]]
    value = .fromArray([.int(1)])
    value = .fromDictionary(["k": .uuid(UUID())])
    let _: (Int?, Bool?, Float?, Double?, String?) = (
        value.intValue, value.boolValue, value.floatValue, value.doubleValue, value.stringValue
    )
    let _: (Data?, Date?, ObjectId?, Decimal128?, UUID?) = (
        value.dataValue, value.dateValue, value.objectIdValue, value.decimal128Value, value.uuidValue
    )
    let _: (Map<String, AnyRealmValue>?, List<AnyRealmValue>?, DynamicObject?, Track?) = (
        value.dictionaryValue, value.listValue, value.dynamicObject, value.object(Track.self)
    )
    switch value {
    case .none, .int, .bool, .float, .double, .string, .data, .date, .objectId, .decimal128, .uuid: break
    case .object(let object): _ = object.isInvalidated
    case .dictionary(let map): _ = map.count
    case .list(let list): _ = list.count
    }
    let property = RealmProperty<Int?>()
    property.value = 3
    _ = property == RealmProperty<Int?>()
    let mixed = RealmProperty<AnyRealmValue>()
    mixed.value = .string("x")

    let point = GeoPoint(latitude: 1, longitude: 2)!
    _ = (point.latitude, point.longitude, point.altitude, GeoPoint(latitude: 1, longitude: 2, altitude: 3) == point)
    let distance = Distance.kilometers(3)!
    _ = (Distance.miles(1), Distance.degrees(1), Distance.radians(1), distance.radians)
    _ = (distance.asKilometers(), distance.asMiles(), distance.asDegrees(), distance == distance)
    let circle = GeoCircle(center: point, radius: distance)
    _ = (GeoCircle(center: point, radiusInRadians: 0.1)!, circle.center, circle.radiusInRadians)
    _ = (GeoCircle(center: (1, 2), radiusInRadians: 0.1), GeoCircle(center: (1, 2), radius: distance))
    let box = GeoBox(bottomLeft: point, topRight: point)
    _ = (GeoBox(bottomLeft: (1, 2), topRight: (3, 4)), box.bottomLeft, box.topRight, box == box)
    _ = GeoPolygon(outerRing: [point, point, point, point])
    _ = GeoPolygon(outerRing: [point, point, point, point], holes: [[point]])
    _ = GeoPolygon(outerRing: [point, point, point, point], holes: [point], [point])
    _ = GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (0, 0)], holes: [[(0, 0)]])
    _ = GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (0, 0)], holes: [(0, 0)], [(0, 0)])
    let polygon = GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (0, 0)])!
    let _: ([GeoPoint], [[GeoPoint]]?) = (polygon.outerRing, polygon.holes)
}

func useCoding(_ coded: Codec, _ results: Results<Codec>, _ album: Album) throws {
    let data = try JSONEncoder().encode(coded)
    _ = try JSONDecoder().decode(Codec.self, from: data)
    _ = try JSONEncoder().encode(coded.values)
    _ = try JSONDecoder().decode(MutableSet<String>.self, from: data)
    _ = try JSONDecoder().decode(Map<String, Double>.self, from: data)
    _ = try JSONEncoder().encode(coded.map)
    _ = try JSONEncoder().encode(results)
    _ = try JSONEncoder().encode(AnyRealmCollection(results))
}
