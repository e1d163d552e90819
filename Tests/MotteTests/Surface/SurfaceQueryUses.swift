// Uses of typed queries (see SurfaceModels.swift).
import Foundation
import Motte

func useQueries(_ tracks: Results<Track>, _ albums: Results<Album>, _ other: Track) {
    _ = tracks.where { $0.title == "x" || $0.title != "y" && !($0.plays >= 3) }
    _ = tracks.where { $0.plays > 1 && $0.plays < 5 && $0.plays <= $0.plays && $0.gain > 1.5 }
    _ = tracks.where { $0.isLive }
    _ = tracks.where { !$0.isLive && $0.isLive == false }
    _ = tracks.where { $0.title.in(["a", "b"]) && $0.plays.in([1, 2]) && $0.genre.in([.jazz, nil]) }
    _ = tracks.where { $0.plays.contains(1 ..< 3) || $0.plays.contains(1 ... 3) || $0.gain.contains(1.0 ... 2.0) }
    _ = tracks.where { $0.released > Date() && $0.released.contains(Date() ... Date()) }
    _ = tracks.where { $0.price >= 3 && $0.cover == nil && $0.cover != Data() }
    _ = tracks.where { $0.title.starts(with: "a", options: .caseInsensitive) }
    _ = tracks.where { $0.title.ends(with: "a", options: [.caseInsensitive, .diacriticInsensitive]) }
    _ = tracks.where { $0.title.contains("a") && $0.title.like("*a?") && $0.title.like("a", caseInsensitive: true) }
    _ = tracks.where { $0.title.equals("a", options: .caseInsensitive) || $0.title.notEquals("b") }
    _ = tracks.where { $0.title > "a" && $0.title <= $0.title && $0.title.starts(with: $0.title) }
    _ = tracks.where { $0.genre == .jazz && $0.genre != nil && $0.rating >= .two && $0.rating.rawValue > 1 }
    _ = tracks.where { $0.genre.rawValue == "jazz" && $0.genre.rawValue.starts(with: "j") }
    _ = tracks.where { $0.length.persistableValue > 3 && $0.address.persistableValue.starts(with: "http") }
    _ = tracks.where { $0.album.name == "x" && $0.album == nil && $0.album.sleeve.colour == "red" }
    _ = tracks.where { $0.extra == .int(3) && $0.extra["key"] == .string("x") && $0.extra[0].any == nil }
    _ = tracks.where { $0.albums.count > 0 && $0.albums.name == "x" }
    _ = tracks.where { $0.id == other.id }
    _ = albums.where { $0.tracks.contains(other) && $0.tracks.containsAny(in: [other]) && $0.tracks.count == 3 }
    _ = albums.where { $0.tracks.plays > 3 && $0.tracks.plays.sum > 3 && $0.tracks.plays.avg > 3 }
    _ = albums.where { ($0.tracks.plays > 3 && $0.tracks.title == "x").count > 1 }
    _ = albums.where { $0.numbers.contains(3) && $0.numbers.containsAny(in: [1]) && $0.numbers > 3 && $0.numbers == 3 }
    _ = albums.where { $0.numbers.min > 1 && $0.numbers.max < 9 && $0.numbers.sum == 3 && $0.numbers.avg >= 1 }
    _ = albums.where { $0.numbers.contains(1 ... 3) || $0.numbers.contains(1 ..< 3) || $0.gains.contains(1.0 ... 2.0) }
    _ = albums.where { $0.tags.contains("x") && $0.tags.count > 1 && $0.genres.contains(.jazz) }
    _ = albums.where { $0.genres.rawValue.contains("jazz") && $0.lengths.persistableValue.contains(3) }
    _ = albums.where { $0.counts["a"] == 3 && $0.counts.keys == "a" && $0.counts.values > 3 && $0.counts.count == 1 }
    _ = albums.where { $0.counts.keys.starts(with: "a") && $0.counts.contains(3) && $0.counts.containsAny(in: [3]) }
    _ = albums.where { $0.counts.sum > 3 && $0.counts.min == 1 && $0.counts.max == 2 && $0.counts.avg == 3 }
    _ = albums.where { $0.counts.contains(1 ... 3) && $0.notes["x"] == "y" && $0.notes["x"] == nil }
    _ = albums.where { $0.genreMap.rawValue["a"] == "jazz" && $0.genreMap["a"] == .jazz }
    _ = albums.where { $0.venue.geoWithin(GeoCircle(center: (1, 2), radiusInRadians: 0.1)!) }
    _ = albums.where { $0.venue.geoWithin(GeoBox(bottomLeft: (1, 2), topRight: (3, 4))!) }
    _ = albums.where { $0.sleeves.colour == "red" && $0.sleeve != nil && $0.sleeve.insert.colour == "x" }
    let _: (String, [Any]) = Query<Track>._constructForTesting().title.contains("x")._constructPredicate()
    let text: (Query<Track>) -> Query<Bool> = { $0.title == "x" }
    _ = tracks.where(text).where { $0.plays > 1 }
    _ = tracks.first?.albums.where { $0.name == "x" }
}
