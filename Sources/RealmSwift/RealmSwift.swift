/// RealmSwift by name: files that say `import RealmSwift` build unchanged where they use nothing of Apple's.
///
/// Everything is in `Motte`; this module has nothing of its own but a name that Foundation has, too.
@_exported import Motte

/// So that `RealmSwift.SortDescriptor` is Motte's, as it is where Foundation is not imported besides.
public typealias SortDescriptor = Motte.SortDescriptor
