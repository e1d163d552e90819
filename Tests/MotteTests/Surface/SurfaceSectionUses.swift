// Uses of sections and projections (see SurfaceModels.swift).
import Dispatch
import Foundation
import Motte

final class TrackView: Projection<Track> {
    @Projected(\Track.title) var title
    @Projected(\Track.plays) var listens
    @Projected(\Track.album?.name) var album
}

final class AlbumView: Projection<Album>, ObjectKeyIdentifiable {
    @Projected(\Album.name) var label
    @Projected(\Album.sleeve?.colour) var colour
    @Projected(\Album.tracks.projectTo.title) var titles: ProjectedCollection<String>
    @Projected(\Album.trackSet.projectTo.plays) var plays: ProjectedCollection<Int>
}

final class SleeveView: Projection<Sleeve> {
    @Projected(\Sleeve.colour) var colour
}

func useProjections(_ realm: Realm, _ album: Album) throws {
    let views: Results<AlbumView> = realm.objects(AlbumView.self)
    _ = views.filter("name == 'x'").sorted(byKeyPath: "name").first?.label
    let view = AlbumView(projecting: album)
    try realm.write {
        view.label = "x"
        view.titles[0] = "y"
    }
    let _: (Album, Realm?, Bool, Bool, String) = (
        view.rootObject, view.realm, view.isInvalidated, view.isFrozen, view.description
    )
    let _: (AlbumView, AlbumView?) = (view.freeze(), view.thaw())
    _ = view == view && [view: 1].isEmpty
    view.setValue("x", forKey: "label")
    let _: Any? = view.value(forKey: "label")
    let _: (Int, String?, [String], Int?) = (
        view.titles.count, view.titles.first, view.titles.map { $0 }, view.titles.index(of: "x")
    )
    let _: Int? = view.titles.index(matching: NSPredicate(format: "title == 'x'"))
    _ = (view.titles.realm, view.titles.isFrozen, view.titles.freeze(), view.titles.thaw(), view.titles.description)
    _ = view.titles.observe { (_: RealmCollectionChange<ProjectedCollection<String>>) in }
    _ = view.titles.observe(on: .main) { _ in }
    _ = view.titles.observe(keyPaths: ["title"], on: nil) { _ in }
    let _: NotificationToken = view.observe { change in
        switch change {
        case .change(let view, let properties): _ = (view.label, properties.first?.name)
        case .deleted, .error: break
        }
    }
    _ = view.observe(keyPaths: ["label"], on: DispatchQueue(label: "q")) { (_: ObjectChange<AlbumView>) in }
    _ = view.observe(keyPaths: [\AlbumView.label]) { _ in }
    let _: String = _name(for: \AlbumView.label)
    let _: AlbumView? = realm.resolve(ThreadSafeReference(to: view))
}

func useProjections(on actor: MainActor, _ view: AlbumView) async {
    _ = await view.observe(on: MainActor.shared) { _, _ in }
    _ = await view.observe(keyPaths: ["label"], on: MainActor.shared) { _, _ in }
    _ = await view.observe(keyPaths: [\.label], on: MainActor.shared) { _, _ in }
}

func useSections(_ tracks: Results<Track>, _ album: Album, _ views: Results<TrackView>) {
    let sections: SectionedResults<String, Track> = tracks.sectioned(by: \.title)
    let _: SectionedResults<Genre?, Track> = tracks.sectioned(by: \.genre, ascending: false)
    let _: SectionedResults<Int, Track> = tracks.sectioned(
        by: \.plays, sortDescriptors: [SortDescriptor(keyPath: "plays")])
    let _: SectionedResults<Int, Track> = tracks.sectioned(
        by: { $0.plays % 3 }, sortDescriptors: [SortDescriptor(keyPath: "plays")])
    let _: SectionedResults<Int, Track> = tracks.sectioned(sortDescriptors: [SortDescriptor(keyPath: "plays")]) {
        $0.plays % 3
    }
    let _: SectionedResults<Bool, Int> = album.numbers.sectioned(by: { $0 > 3 })
    let _: SectionedResults<Bool, Int> = album.numbers.sectioned(by: { $0 > 3 }, ascending: false)
    let _: SectionedResults<String, TrackView> = views.sectioned(by: \.title, ascending: true)
    _ = (
        album.tracks.sectioned(by: \.title), album.trackSet.sectioned(by: \.title),
        AnyRealmCollection(tracks).sectioned(by: \.title)
    )
    let _: ([String], Int, Realm?, Bool, Bool) = (
        sections.allKeys, sections.count, sections.realm, sections.isFrozen, sections.isInvalidated
    )
    let section: ResultsSection<String, Track> = sections[0]
    let _: (String, String, Int, Track, Track) = (
        section.key, section.id, section.count, section[0], sections[IndexPath(item: 0, section: 0)]
    )
    for section in sections { for track in section { _ = track.title } }
    _ = (sections.freeze(), sections.thaw(), section.freeze(), section.thaw(), sections == sections, section == section)
    _ = IndexPath(row: 1, section: 2).row + IndexPath(item: 1, section: 2).item + IndexPath(item: 1, section: 2).section
    _ = sections.observe { (change: SectionedResultsChange<SectionedResults<String, Track>>) in
        switch change {
        case .initial(let sections): _ = sections.count
        case .update(
            let sections, let deletions, let insertions, let modifications, let sectionsToInsert, let sectionsToDelete):
            _ = (sections.allKeys, deletions + insertions + modifications, sectionsToInsert.union(sectionsToDelete))
        }
    }
    _ = sections.observe(keyPaths: ["title"], on: .main) { change in
        switch change {
        case .initial, .update: break
        }
    }
    _ = sections.observe(keyPaths: [\.title]) { _ in }
    _ = section.observe { (_: RealmSectionedResultsChange<ResultsSection<String, Track>>) in }
    _ = section.observe(keyPaths: [\.title], on: nil) { _ in }
}

func useSections(on actor: MainActor, _ sections: SectionedResults<String, Track>) async {
    _ = await sections.observe(on: MainActor.shared) { _, _ in }
    _ = await sections[0].observe(keyPaths: ["title"], on: MainActor.shared) { _, _ in }
}
