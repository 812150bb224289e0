import Foundation
import LFSDatabase
import LFSSystem

/// A collector of the registered keys and the stored values for an audit.
struct SettingsAuditor: Sendable {
    let access: ValueAccess

    private struct Stored {
        let name: String
        let place: String
        /// Nil if the value cannot be read.
        let value: StoredValue?
    }

    func audit() async throws -> SettingsAudit {
        var audit = SettingsAudit()
        audit.pendingMigrations = try await access.pendingProblems().keys.sorted()
        audit.pendingCatalogs = access.pending.catalogs
        var byKey: [String: [Stored]] = [:]
        for item in try await allStored(&audit) {
            // A value outside the place of its key counts as an orphan.
            if let info = access.registry.entry(forStored: item.name)?.info, info.availability.contains(.here),
                try place(of: info.domain) == item.place
            {
                byKey[info.name, default: []].append(item)
            } else {
                let byteCount = item.value?.content.bytes.count ?? 0
                audit.orphans.append(.init(name: item.name, place: item.place, byteCount: byteCount))
            }
        }
        for entry in access.registry.all {
            audit.entries.append(await self.entry(entry, stored: byKey[entry.info.name] ?? []))
        }
        audit.orphans.sort { ($0.place, $0.name) < ($1.place, $1.name) }
        return audit
    }

    private func allStored(_ audit: inout SettingsAudit) async throws -> [Stored] {
        // The entry of an unreadable value reports its problem.
        var stored = try await access.runner.read(SettingTable.values).map { name, row in
            Stored(name: name, place: "database", value: try? row.get())
        }
        for store in try await access.stores.beside() {
            let place = place(store)
            do {
                if let place = store.resetPlace { try await access.resets.finish(place) }
                for name in try await store.names() {
                    stored.append(Stored(name: name, place: place, value: try await value(name, store: store)))
                }
            } catch {
                guard let error = SettingsError.wrapping(error, key: nil) as? SettingsError else { throw error }
                audit.unreadablePlaces[place] = error.code.rawValue
            }
        }
        return stored
    }

    /// Returns nil for a value that cannot be read although its place can.
    private func value(_ name: String, store: any SettingsStore) async throws -> StoredValue? {
        do {
            return try await store.read(name)
        } catch {
            let problem = SettingsError.wrapping(error, key: nil) as? SettingsError
            guard problem?.isOfClosedPlace == false else { throw error }
            return nil
        }
    }

    private func entry(_ entry: Registry.Entry, stored: [Stored]) async -> SettingsAudit.Entry {
        let info = entry.info
        let isAvailable = info.availability.contains(.here)
        var line = SettingsAudit.Entry(
            key: info.name, isFamily: info.isFamily, catalog: entry.catalog, type: info.type,
            domain: info.domain.description, security: info.security.description, sync: info.sync.description,
            isAvailable: isAvailable)
        let values = stored.compactMap(\.value)
        line.storedCount = stored.count
        line.byteCount = values.reduce(0) { $0 + $1.content.bytes.count }
        line.serializerVersion = values.map(\.content.version).min()
        line.updatedAt = values.map(\.updatedAt).max().map(Date.init(millisecondsSince1970:))
        guard isAvailable else { return line }
        for item in stored where line.problem == nil { line.problem = await problem(item.name, info: info) }
        return line
    }

    private func problem(_ name: String, info: KeyInfo) async -> String? {
        do {
            if let content = try await access.content(name, info: info) { try info.check(content) }
            return nil
        } catch {
            let error = SettingsError.wrapping(error, key: nil) as? SettingsError
            return (error ?? info.decodingError(UnreadableBytes())).code.rawValue
        }
    }

    private func place(of domain: StorageDomain) throws -> String {
        domain.isDatabase ? "database" : place(try access.stores.store(for: domain))
    }

    private func place(_ store: any SettingsStore) -> String {
        switch store {
        case let store as FileStore: store.path
        case is KeychainStore: "keychain"
        default: "memory"
        }
    }
}
