import GRDB
import LFSDatabase

/// The migration of catalogs' data to the versions that this app writes.
struct CatalogMigration: Sendable {
    let catalogs: [StorageCatalog]
    let access: ValueAccess

    /// - Throws: ``SettingsError/Code/newerData`` if a catalog has data of a higher version. Nothing is changed then.
    func requireKnown(_ stored: [String: CatalogTable.Versions]) throws {
        for catalog in catalogs {
            guard let version = stored[catalog.name]?.data, version > catalog.version else { continue }
            throw SettingsError(
                .newerData,
                message: """
                    The data of the catalog “\(catalog.name)” has version \(version), and this app supports versions \
                    up to \(catalog.version). A newer app has written it. Nothing was changed. Update the app.
                    """)
        }
    }

    func isNeeded() async throws -> Bool {
        let stored = try await access.runner.read(CatalogTable.versions)
        return catalogs.contains { stored[$0.name]?.data != $0.version }
    }

    /// Migrates all catalogs. A catalog that fails is recorded as pending. It stops neither the others nor the repair
    /// of its data.
    func run(onFailure: (_ catalog: String, SettingsError) -> Void) async throws {
        try requireKnown(try await access.runner.read(CatalogTable.versions))
        for catalog in catalogs {
            do {
                try await run(catalog)
            } catch {
                guard let problem = SettingsError.wrapping(error, key: nil) as? SettingsError else { throw error }
                access.pending.add(catalog: catalog.name, problem)
                onFailure(catalog.name, problem)
            }
        }
    }

    private func run(_ catalog: StorageCatalog) async throws {
        let (name, version) = (catalog.name, catalog.version)
        let stored = try await access.runner.read { db in try CatalogTable.version(of: name, db) }
        guard let stored else {
            // The first open: data that is written from now on has the current version.
            return try await access.runner.write { db in try CatalogTable.setVersion(version, of: name, db) }
        }
        var next = Self.lowest(stored)
        while next < version {
            try await run(catalog.steps.first { $0.version == next }, from: next, of: catalog)
            next += 1
        }
    }

    /// Raises a version below 1 to 1. Only another program can have written it.
    private static func lowest(_ version: Int) -> Int { max(version, 1) }

    private func run(_ step: DataStep?, from version: Int, of catalog: StorageCatalog) async throws {
        do { try await step?.effects() } catch { throw Self.failed(catalog, version: version, error: error) }
        let isLast = version + 1 == catalog.version
        let beside = isLast ? try await failuresBesideDatabase(of: catalog) : []
        let (access, name) = (access, catalog.name)
        try await access.runner.writeAlone { db in
            // Without a lock between processes, another one may have run the step while the effects ran.
            guard Self.lowest(try CatalogTable.version(of: name, db) ?? version) == version else { return }
            var transaction = access
            // Each device runs the step independently, so values that were set on any of them win.
            transaction.time = .before
            do {
                try step?.change(SettingsBatch(database: db, access: transaction))
            } catch {
                throw Self.failed(catalog, version: version, error: error)
            }
            if isLast { try Self.require(beside + Self.failures(of: catalog, access, db), catalog: catalog) }
            try CatalogTable.setVersion(version + 1, of: name, db)
        }
    }

    // MARK: Verification

    private static func failures(
        of catalog: StorageCatalog, _ access: ValueAccess, _ db: Database
    ) throws -> [String] {
        var failures: [String] = []
        try SettingTable.forEachRow(db) { row in
            guard let entry = access.registry.entry(forStored: row.name), entry.catalog == catalog.name,
                entry.info.domain.isDatabase
            else { return }
            let info = entry.info
            do {
                guard let stored = try row.value.get() else { return }
                let keys = info.security == .none ? KeySet.none : try access.ring.keys(db)
                try info.check(try access.open(stored, name: row.name, info: info, keys: keys))
            } catch let error as DatabaseError {
                throw error
            } catch {
                if info.onUndecodable == .fail { failures.append(info.publicName) }
            }
        }
        return failures
    }

    private func failuresBesideDatabase(of catalog: StorageCatalog) async throws -> [String] {
        var failures: [String] = []
        let infos = catalog.keys.filter { !$0.domain.isDatabase && $0.availability.contains(.here) }
        for info in infos {
            for name in try await storedNames(of: info) {
                do {
                    if let content = try await access.content(name, info: info) { try info.check(content) }
                } catch let error as SettingsError where error.isOfClosedPlace {
                    // Unknown for now. The version is not raised until the place can be read.
                    throw error.about(info.publicName)
                } catch {
                    if info.onUndecodable == .fail { failures.append(info.publicName) }
                }
            }
        }
        return failures
    }

    /// Returns the key's name, or the names of a family's stored members.
    private func storedNames(of info: KeyInfo) async throws -> [String] {
        guard info.isFamily else { return [info.name] }
        return try await access.stores.store(for: info.domain).names().filter { name in
            access.registry.entry(forStored: name)?.info.name == info.name
        }
    }

    private static func require(_ failures: [String], catalog: StorageCatalog) throws {
        let names = Set(failures).sorted()
        guard !names.isEmpty else { return }
        throw SettingsError(
            .migrationFailed,
            message: """
                After the steps to version \(catalog.version) of the catalog “\(catalog.name)”, values of these keys \
                cannot be read: \(names.joined(separator: ", ")). The last step was rolled back. Correct it, restore \
                what the values need, or remove them, and open the router again.
                """)
    }

    private static func failed(_ catalog: StorageCatalog, version: Int, error: any Error) -> SettingsError {
        SettingsError(
            .migrationFailed,
            message: """
                The step from version \(version) of the catalog “\(catalog.name)” failed and was rolled back. Correct \
                it, and open the router again. The steps before it are done.
                """,
            cause: SettingsError.wrapping(error, key: nil))
    }
}
