import Foundation
import LFSDatabase
import LFSSystem

/// A collector of the registered keys and the stored values for an audit.
struct SettingsAuditor: Sendable {
    let access: ValueAccess

    private struct Stored {
        let summary: StoredSummary
        let place: String
    }

    func audit() async throws -> SettingsAudit {
        var audit = SettingsAudit()
        audit.pendingMigrations = try await access.pendingProblems().keys.sorted()
        audit.pendingCatalogs = access.pending.catalogs
        let stored = try await allStored(&audit)
        var byKey: [String: [Stored]] = [:]
        for item in stored {
            // A value outside the place of its key counts as an orphan.
            if let info = access.registry.entry(forStored: item.summary.name)?.info,
                info.availability.contains(.here), try place(of: info.domain) == item.place
            {
                byKey[info.name, default: []].append(item)
            } else {
                audit.orphans.append(
                    SettingsAudit.Orphan(
                        name: item.summary.name, place: item.place, byteCount: item.summary.byteCount))
            }
        }
        for entry in access.registry.all {
            audit.entries.append(try await self.entry(entry, stored: byKey[entry.info.name] ?? []))
        }
        audit.orphans.sort { ($0.place, $0.name) < ($1.place, $1.name) }
        return audit
    }

    private func allStored(_ audit: inout SettingsAudit) async throws -> [Stored] {
        var stored: [Stored] = []
        let rows = try await access.runner.read(SettingTable.summaries)
        stored += rows.map { Stored(summary: $0, place: "database") }
        for store in try await access.stores.beside() {
            let place = place(store)
            do {
                if let place = store.resetPlace { try await access.resets.finish(place) }
                stored += try await store.summaries().map { Stored(summary: $0, place: place) }
            } catch {
                guard let error = SettingsError.wrapping(error, key: nil) as? SettingsError else { throw error }
                audit.unreadablePlaces[place] = error.code.rawValue
            }
        }
        return stored
    }

    private func entry(_ entry: Registry.Entry, stored: [Stored]) async throws -> SettingsAudit.Entry {
        let info = entry.info
        let isAvailable = info.availability.contains(.here)
        var line = SettingsAudit.Entry(
            key: info.name, isFamily: info.isFamily, catalog: entry.catalog, type: info.type,
            domain: info.domain.description, security: info.security.description, sync: info.sync.description,
            isAvailable: isAvailable)
        line.storedCount = stored.count
        line.byteCount = stored.reduce(0) { $0 + $1.summary.byteCount }
        line.serializerVersion = stored.compactMap(\.summary.serializerVersion).min()
        line.updatedAt = stored.compactMap(\.summary.updatedAt).max().map(Date.init(millisecondsSince1970:))
        guard isAvailable else { return line }
        for item in stored where line.problem == nil {
            line.problem = await problem(item.summary.name, info: info)
        }
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
