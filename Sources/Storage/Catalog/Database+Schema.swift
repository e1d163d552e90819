/// Bringing a file's schema to the declared one when it is opened: what would be done, and doing it in one commit.
import MottePages
import MotteSchemaModel
import MotteValues

/// What a caller declares, and what may be done to reach it.
package struct SchemaRequest {
    package var declared: Schema
    /// nil: that of the file.
    package var version: UInt64?
    /// Known beforehand; a migration step can name more.
    package var renames = SchemaRenames()
    /// Classes that go with their objects if they are not declared.
    package var deletedTypes: [String] = []
    /// Rather an empty file than a migration.
    package var resetsInsteadOfMigrating = false
    /// Whether a property that comes or goes takes a new schema version.
    package var fixesProperties = false
    /// Changes objects during a migration; what it throws undoes everything.
    package var step: ((SchemaMigration) throws(DatabaseError) -> Void)?
    package var progress: MigrationProgressHandler?
    /// Calls the functions of properties that are added.
    package var fill: Fill?
    /// Fills a new file, in the write that gives it its schema.
    package var populate: ((WriteTransaction) throws(DatabaseError) -> Void)?
    /// `populate` also fills what is added to a file that is there.
    package var populatesAdditions = false
    /// For the write lock; negative: no limit.
    package var timeoutMilliseconds: Int64 = -1

    package init(_ declared: Schema, version: UInt64? = nil) {
        self.declared = declared
        self.version = version
    }
}

extension Snapshot {
    /// The number users gave the stored schema.
    package var schemaVersion: UInt64 { catalog.schemaVersion }

    /// What opening with this request would do. Throws what opening would throw, before anything is changed.
    package func plan(_ request: SchemaRequest) throws(DatabaseError) -> SchemaPlan {
        let declared = try request.declared.validated()
        let version = request.version ?? catalog.schemaVersion
        let isNew = catalog.changedIn == 0
        let difference = SchemaDifference(stored: schema, declared: declared)
        func plan(_ action: SchemaPlan.Action, _ lines: [String]) -> SchemaPlan {
            SchemaPlan(
                action: action, storedVersion: catalog.schemaVersion, declaredVersion: version, lines: lines)
        }
        if isNew { return plan(.create, difference.additionLines()) }
        let reasons = difference.reasonsToMigrate(fixesProperties: request.fixesProperties)
        if request.resetsInsteadOfMigrating, version < catalog.schemaVersion || !reasons.isEmpty {
            return plan(.reset, declared.objectTypes.map { "class \($0.name) is added" })
        }
        guard version >= catalog.schemaVersion else {
            throw DatabaseError(
                .schemaMismatch,
                "the declared schema version \(version) is lower than \(catalog.schemaVersion), which the file has; "
                    + "update the program, or open the file with a copy of its own schema")
        }
        if version == catalog.schemaVersion || request.resetsInsteadOfMigrating {
            try difference.checkNeedsNoMigration(fixesProperties: request.fixesProperties)
            if !difference.changesSchema, version == catalog.schemaVersion { return plan(.nothing, []) }
            try checkAdditions(difference)
            return plan(.add, difference.additionLines())
        }
        return try CatalogMigration.make(
            declared, schemaVersion: version, renames: request.renames, deleting: request.deletedTypes,
            stored: catalog, previous: nil
        ).plan
    }
}

extension Database {
    /// Makes the stored schema hold everything that is declared; true when that took a commit.
    package func reconcile(
        _ declared: Schema, schemaVersion: UInt64? = nil, on snapshot: Snapshot
    ) throws(DatabaseError) -> Bool {
        try reconcile(SchemaRequest(declared, version: schemaVersion), on: snapshot).action != .nothing
    }

    /// Carries out `Snapshot.plan`. A failure leaves the file as it was.
    package func reconcile(
        _ request: SchemaRequest, on snapshot: Snapshot
    ) throws(DatabaseError) -> SchemaPlan {
        let foreseen = try snapshot.plan(request)
        guard foreseen.action != .nothing else { return foreseen }
        // A migration may be what drops an index of a kind that is not known.
        let write = try beginWrite(
            on: snapshot, timeoutMilliseconds: request.timeoutMilliseconds, as: .callingThread, changesSchema: true)
        do throws(DatabaseError) {
            // Another process may have done it in the meantime.
            let plan = try snapshot.plan(request)
            switch plan.action {
            case .nothing:
                write.cancel()
                return plan
            case .add, .create:
                try write.add(request, plan)
                if plan.action == .create || request.populatesAdditions {
                    try request.populate?(write)
                    try write.requireOpen()
                }
            case .reset: try write.reset(request, plan)
            case .migrate: return try write.migrate(request, plan)
            }
            try write.commit()
            return plan
        } catch {
            write.cancel()
            throw error
        }
    }
}

extension Database {
    /// Deletes a class with its objects, in a commit of its own; the schema version stays. False if there is none.
    package func deleteType(_ name: String, on snapshot: Snapshot) throws(DatabaseError) -> Bool {
        let write = try beginWrite(on: snapshot, timeoutMilliseconds: -1, as: .callingThread, changesSchema: true)
        let reliance = snapshot.reliance
        do throws(DatabaseError) {
            guard let table = snapshot.schema[name]?.tableKey else {
                write.cancel()
                return false
            }
            let rest = snapshot.schema.objectTypes.filter { !$0.name.hasSameBytes(as: name) }
            for type in rest {
                for property in type.properties where property.target?.hasSameBytes(as: name) == true {
                    throw DatabaseError(
                        .schemaInvalid,
                        "class \(name) is the target of \(type.name).\(property.name); delete that property or class "
                            + "first, in a migration", className: name, propertyName: property.name)
                }
            }
            let migration = try SchemaMigration(
                write, declared: Schema(rest), schemaVersion: snapshot.schemaVersion, renames: SchemaRenames(),
                deleting: [name], progress: nil)
            try write.catalog.requireKnownIndexes()
            try migration.finish()
            // Who deletes it does not rely on it any more. Not earlier: others may have changed it until the lock came.
            snapshot.reliance = reliance?.removing(table, in: snapshot.schema)
            try write.commit()
            return true
        } catch {
            write.cancel()
            snapshot.reliance = reliance
            throw error
        }
    }
}

extension WriteTransaction {
    /// Adds what is declared and the file lacks, in this write; what would need a migration is refused. The version
    /// stays unless one is given. Gives new indexes of classes that have objects, which are to be built when these have
    /// their values.
    func addSchema(_ declared: Schema, schemaVersion: UInt64?) throws(DatabaseError) -> [IndexKey] {
        guard let changes = try CatalogChanges.applying(declared, schemaVersion: schemaVersion, to: catalog) else {
            return []
        }
        try changes.catalog.requireKnownIndexes()
        var left: [IndexKey] = []
        try completing { () throws(DatabaseError) in
            install(changes.catalog, touching: changes.touched)
            for (table, index) in changes.indexesToBuild where try self.table(table).liveCount > 0 {
                left.append(index)
            }
        }
        return left
    }

    fileprivate func add(_ request: SchemaRequest, _ plan: SchemaPlan) throws(DatabaseError) {
        guard
            let changes = try CatalogChanges.applying(
                request.declared, schemaVersion: plan.declaredVersion, to: base.catalog)
        else { return install(base.catalog, touching: []) }
        install(changes.catalog, touching: changes.touched)
        try changes.catalog.requireKnownIndexes()
        try fillAdditions(request.declared, mayStayEmpty: false, by: request.fill)
        for (_, index) in changes.indexesToBuild {
            // Built from the final rows.
            forgetIndexChanges(of: index)
            try buildIndex(index)
        }
    }

    fileprivate func migrate(_ request: SchemaRequest, _ plan: SchemaPlan) throws(DatabaseError) -> SchemaPlan {
        let migration = try SchemaMigration(
            self, declared: request.declared, schemaVersion: plan.declaredVersion, renames: request.renames,
            deleting: request.deletedTypes, progress: request.progress, hasStep: request.step != nil,
            fill: request.fill)
        try catalog.requireKnownIndexes()
        try request.step?(migration)
        try requireOpen()
        try migration.finish()
        try commit()
        return migration.plan
    }

    /// Everything of the old schema goes, in the same commit in which the new one comes. Keys go on counting.
    fileprivate func reset(_ request: SchemaRequest, _ plan: SchemaPlan) throws(DatabaseError) {
        let state = SchemaMigration.State()
        for table in base.catalog.tables {
            state.obsoletePages += PageKeys.everything(of: table.key)
            for index in table.indexKeys { state.obsoletePages += IndexSpace.everything(of: index) }
        }
        let emptied = Catalog(
            schemaVersion: plan.declaredVersion, changedIn: 0, nextTableKey: base.catalog.nextTableKey,
            nextIndexKey: base.catalog.nextIndexKey, tables: [])
        let changes = try CatalogChanges.applying(request.declared, schemaVersion: plan.declaredVersion, to: emptied)
        beginMigration(state, changes?.catalog ?? emptied)
    }
}
