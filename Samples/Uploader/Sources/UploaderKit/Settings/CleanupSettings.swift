import Foundation
import GRDB
import LFS
import LFSSettings

extension StorageKey<[String]> {
    /// The media types, such as `image/png` or `video/*`, whose local copies 'free' keeps.
    static var cleanupContentTypes: Self { .init("cleanup.keepsContentTypes", default: []) }
    /// The folders whose files keep their local copies when 'free' runs.
    static var cleanupFolders: Self { .init("cleanup.keepsFolders", default: []) }
}

extension StorageKey<Int> {
    /// The number of days for which 'free' keeps a copy after its last use. 0 for no such rule.
    static var cleanupDays: Self { .init("cleanup.keepsDays", default: 0) }
}

/// The rules in the settings for the local copies that 'free' keeps. Pins are the rules for single files.
enum CleanupSettings {
    /// The longest time of ``StorageKey/cleanupDays``.
    static let longestDays = 36_500

    static let catalog = StorageCatalog("uploader.cleanup") {
        StorageKey<[String]>.cleanupContentTypes
        StorageKey<[String]>.cleanupFolders
        StorageKey<Int>.cleanupDays
    }

    static let lines = [
        SettingLine(
            StorageKey<[String]>.cleanupContentTypes, form: "media types, such as image/png,video/*",
            meaning: "types whose copies 'free' keeps: image/png,video/*", text: list, value: types),
        SettingLine(
            StorageKey<Int>.cleanupDays, form: "a number of days from 0 to \(longestDays)",
            meaning: "'free' keeps copies used within this many days, 0 to \(longestDays)", text: { "\($0)" },
            value: { words in Int(words).flatMap { (0...longestDays).contains($0) ? $0 : nil } }),
        SettingLine(
            StorageKey<[String]>.cleanupFolders, form: "absolute paths of folders, separated by commas",
            meaning: "folders whose copies 'free' keeps, such as /a,/b", text: list, value: folders),
    ]

    /// Adds the rules of an uploader's database to a policy.
    ///
    /// - Throws: `SettingsError` if a rule cannot be read, so that nothing is freed that it would keep.
    static func apply(to policy: inout EvictionPolicy, database: any DatabaseWriter) async throws {
        try await UploaderSettings.use(database) { settings in
            policy.keepsContentTypes = try await settings.get(.cleanupContentTypes)
            let days = try await settings.get(.cleanupDays)
            if days > 0, policy.keepsUsedWithin == nil {
                policy.keepsUsedWithin = .seconds(min(days, longestDays) * 86_400)
            }
            for folder in try await settings.get(.cleanupFolders) {
                policy.keep { DocumentTable.files(in: folder) }
            }
        }
    }

    private static func list(_ texts: [String]) -> String { texts.joined(separator: ",") }

    private static func types(_ text: String) -> [String]? {
        let types = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        // The names of RFC 6838, section 4.2.
        let isValid = types.allSatisfy { $0.wholeMatch(of: /[a-z]+\/(\*|[a-z0-9.+_-]{1,64})/) != nil }
        return isValid && types.count <= 20 ? types : nil
    }

    private static func folders(_ text: String) -> [String]? {
        let folders = text.split(separator: ",").map(String.init)
        return folders.count <= 100 && folders.allSatisfy { $0.hasPrefix("/") } ? folders : nil
    }
}
