// What the document on collections promises, example by example, with its own models: every kind of collection,
// generic code over them, live and frozen ones, lazy results, pages.
import Foundation
import Motte
import Testing

class Shelf: Object {
    @Persisted(primaryKey: true) var label: String
    @Persisted var books: List<Novel>
    @Persisted var favourites: MutableSet<Novel>
    @Persisted var stickers: List<String>
    @Persisted var codes: MutableSet<Int>
    @Persisted var loans: Map<String, Novel?>
    @Persisted var prices: Map<String, Double>
}

class Novel: Object {
    @Persisted(primaryKey: true) var isbn: Int
    @Persisted var title: String
    @Persisted var pages: Int
    @Persisted(originProperty: "books") var shelves: LinkingObjects<Shelf>
}

/// Works on every collection of novels.
private func longest<C: RealmCollection>(in collection: C) -> String? where C.Element == Novel {
    collection.sorted(byKeyPath: "pages", ascending: false).first?.title
}

/// Works on every collection, whatever is in it.
private func size<C: RealmCollection>(_ collection: C) -> Int { collection.count }

/// Holds any collection of novels without saying which kind it is.
private struct Reader {
    var novels: AnyRealmCollection<Novel>
    var totalPages: Int { novels.sum(ofProperty: "pages") }

    init<C: RealmCollection>(_ novels: C) where C.ElementType == Novel { self.novels = AnyRealmCollection(novels) }
}

@Suite struct CollectionsDocumentTests {
    let realm: Realm
    let shelf: Shelf
    let novels: [Novel]

    init() throws {
        realm = try makeRealm([Shelf.self, Novel.self])
        let shelf = Shelf(value: ["label": "top"])
        let novels = (1 ... 5).map { Novel(value: ["isbn": $0, "title": "novel \($0)", "pages": $0 * 100]) }
        shelf.books.append(objectsIn: novels)
        shelf.favourites.insert(objectsIn: [novels[1], novels[3], novels[1]])
        shelf.stickers.append(objectsIn: ["new", "old", "new"])
        shelf.codes.insert(objectsIn: [3, 1, 2, 3])
        shelf.loans["Ann"] = novels[4]
        shelf.loans["Bob"] = .some(nil)
        shelf.prices["used"] = 2.5
        shelf.prices["fresh"] = 9
        let added = shelf
        let target = realm
        try target.write { target.add(added) }
        self.shelf = shelf
        self.novels = novels
    }

    @Test func everyKindHoldsObjectsOfOneType() {
        #expect(shelf.books.count == 5 && shelf.favourites.count == 2 && shelf.loans.count == 2)
        #expect(realm.objects(Novel.self).count == 5 && novels[0].shelves.count == 1)
        #expect(shelf.favourites.contains(novels[3]) && !shelf.favourites.contains(novels[0]))
        #expect(shelf.loans["Ann"]??.isbn == 5 && shelf.loans["Bob"]! == nil && shelf.loans["Cid"] == nil)
    }

    @Test func genericCodeWorksOnAnyCollection() {
        #expect(longest(in: shelf.books) == "novel 5" && longest(in: shelf.favourites) == "novel 4")
        #expect(longest(in: realm.objects(Novel.self).filter("pages < 300")) == "novel 2")
        #expect(longest(in: AnyRealmCollection(shelf.books)) == "novel 5")
        #expect(size(shelf.stickers) == 3 && size(shelf.codes) == 3 && size(novels[0].shelves) == 1)
    }

    @Test func theErasedTypeForwardsToWhatItHolds() throws {
        var reader = Reader(shelf.books)
        #expect(reader.totalPages == 1500 && reader.novels.first?.isbn == 1)
        try realm.write { shelf.books.removeLast() }
        #expect(reader.totalPages == 1000, "it stays live")
        reader.novels = AnyRealmCollection(realm.objects(Novel.self).where { $0.pages > 300 })
        #expect(reader.totalPages == 900)
    }

    @Test func collectionsAreSwiftCollections() {
        let books = shelf.books
        #expect(books.map(\.isbn) == [1, 2, 3, 4, 5] && books.reversed().map(\.isbn) == [5, 4, 3, 2, 1])
        #expect(books.lazy.filter { $0.pages > 300 }.map(\.isbn) == [4, 5] && books.dropFirst(3).count == 2)
        #expect(books.reduce(0) { $0 + $1.pages } == 1500 && books.contains { $0.title == "novel 2" })
        #expect(zip(books, books.dropFirst()).allSatisfy { $0.isbn < $1.isbn })
        #expect(books[1 ..< 3].map(\.isbn) == [2, 3] && books.firstIndex { $0.pages == 300 } == 2)
    }

    @Test func anyCollectionIsFilteredAndSorted() {
        #expect(shelf.books.filter("pages > 300").count == 2 && shelf.books.where { $0.pages > 300 }.count == 2)
        #expect(shelf.favourites.filter("title ENDSWITH '4'").first?.isbn == 4)
        #expect(shelf.favourites.sorted(byKeyPath: "pages", ascending: false).map(\.isbn) == [4, 2])
        #expect(shelf.stickers.filter("SELF == %@", "new").count == 2)
        #expect(Array(shelf.stickers.sorted(ascending: false)) == ["old", "new", "new"])
        #expect(Array(shelf.stickers.distinct()) == ["new", "old"])
        #expect(Array(shelf.codes.filter("SELF >= 2").sorted(ascending: false)) == [3, 2])
        #expect(novels[0].shelves.filter("label BEGINSWITH 't'").count == 1)
        #expect(shelf.prices.filter(NSPredicate(format: "SELF > 5")).count == 1)
        #expect(Array(shelf.prices.sorted(ascending: true)) == [2.5, 9])
        #expect(AnyRealmCollection(shelf.books).filter("isbn == 3").first?.title == "novel 3")
    }

    @Test func resultsAreLive() throws {
        let long = realm.objects(Novel.self).filter("pages >= 400")
        let last = long.last
        #expect(long.count == 2)
        try realm.write {
            realm.add(Novel(value: ["isbn": 6, "title": "novel 6", "pages": 600]))
            #expect(long.count == 3, "also in the transaction that changes it")
            novels[3].pages = 10
        }
        #expect(long.map(\.isbn) == [5, 6] && last?.isbn == 5)
        try realm.write { realm.delete(novels[4]) }
        #expect(long.map(\.isbn) == [6] && shelf.books.count == 4, "positions are for the moment")
    }

    @Test func listsShowTheRelationshipAsItIs() throws {
        let books = shelf.books
        let again = try #require(realm.object(ofType: Shelf.self, forPrimaryKey: "top")).books
        try realm.write { again.remove(at: 0) }
        #expect(books.map(\.isbn) == [2, 3, 4, 5] && books == again)
        #expect(novels[0].shelves.isEmpty && novels[1].shelves.first == shelf)
    }

    @Test func unmanagedCollectionsAreNotLive() throws {
        let unmanaged = Shelf(value: ["label": "unmanaged"])
        unmanaged.books.append(objectsIn: novels[0 ..< 2])
        let copy = Shelf(value: shelf)
        #expect(copy.realm == nil && copy.books.realm == nil && copy.books.count == 5)
        try realm.write {
            realm.delete(novels[0])
            shelf.stickers.append("late")
        }
        #expect(copy.stickers.count == 3 && shelf.stickers.count == 4, "a copy stays as it was")
        #expect(copy.books.count == 5 && unmanaged.books.count == 2, "also where an object of it is gone")
        copy.stickers.removeAll()
        #expect(shelf.stickers.count == 4, "and can be changed on its own, without a transaction")
    }

    @Test func frozenCollectionsAreNotLive() throws {
        let frozen = realm.objects(Novel.self).sorted(byKeyPath: "pages").freeze()
        let list = shelf.books.freeze()
        let map = shelf.prices.freeze()
        try realm.write {
            realm.delete(novels[0])
            novels[1].title = "changed"
            shelf.prices["used"] = 1
        }
        #expect(frozen.count == 5 && frozen[1].title == "novel 2" && frozen.isFrozen)
        #expect(list.count == 5 && list[0].isFrozen && list[1].title == "novel 2" && map["used"] == 2.5)
        #expect(frozen.filter("pages > 200").count == 3, "they are asked like others")
        #expect(frozen.thaw()?.count == 4 && list.thaw()?.first?.title == "changed")
    }

    @Test func resultsCannotBeChangedAndListsCan() throws {
        try realm.write {
            shelf.books.move(from: 0, to: 4)
            shelf.books.swapAt(0, 1)
            shelf.books.insert(novels[0], at: 2)
        }
        #expect(shelf.books.map(\.isbn) == [3, 2, 1, 4, 5, 1])
        #expect(misuses { shelf.books.append(novels[0]) }.first?.contains("write") == true)
        #expect(shelf.books.count == 6)
    }

    @Test func queriesRunWhenTheyAreRead() throws {
        // A chain of queries is one query; making it reads nothing, so that what is added later is in it.
        let chain = realm.objects(Novel.self).filter("pages > 100").sorted(byKeyPath: "pages", ascending: false)
            .filter("title CONTAINS 'novel'").where { $0.isbn < 100 }
        try realm.write { realm.add(Novel(value: ["isbn": 9, "title": "novel 9", "pages": 900])) }
        #expect(chain.map(\.isbn) == [9, 5, 4, 3, 2])
    }

    @Test func limitsAndPagesAreSlices() throws {
        try realm.write {
            for isbn in 100 ..< 1100 { realm.add(Novel(value: ["isbn": isbn, "title": "filler", "pages": isbn])) }
        }
        let results = realm.objects(Novel.self).filter("title == 'filler'").sorted(byKeyPath: "isbn")
        #expect(results.prefix(10).map(\.isbn) == Array(100 ..< 110))
        let pageSize = 100
        for page in [0, 4, 9] {
            let shown = results[page * pageSize ..< (page + 1) * pageSize]
            #expect(shown.first?.isbn == 100 + page * pageSize && shown.count == pageSize)
        }
    }

    @Test func observersLearnOfCollections() throws {
        var received: [String] = []
        let tokens = [
            shelf.books.observe { received.append(Self.text("books", $0)) },
            shelf.codes.observe { received.append(Self.text("codes", $0)) },
            novels[0].shelves.observe { received.append(Self.text("shelves", $0)) },
        ]
        realm.refresh()
        #expect(received.sorted() == ["books 5", "codes 3", "shelves 1"])
        received = []
        try realm.write {
            shelf.books.remove(at: 0)
            shelf.codes.insert(9)
        }
        try realm.write {}
        #expect(received.sorted() == ["books [0] [] []", "codes [] [3] []", "shelves [0] [] []"])
        tokens.forEach { $0.invalidate() }
    }

    private static func text<C: RealmCollection>(_ name: String, _ change: RealmCollectionChange<C>) -> String {
        switch change {
        case .initial(let collection): "\(name) \(collection.count)"
        case .update(_, let deletions, let insertions, let modifications):
            "\(name) \(deletions) \(insertions) \(modifications)"
        case .error(let error): "\(name) \(error)"
        }
    }
}
