/// RealmSwift by name: files that say `import RealmSwift` build unchanged where they use nothing of Apple's.
///
/// Everything is in `Motte`; this module has nothing of its own.
@_exported import Motte
