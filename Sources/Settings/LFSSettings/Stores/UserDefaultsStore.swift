import Foundation
import LFSFiles
import LFSSystem

/// A store for values of `UserDefaults`. On Linux it reads Foundation's file and never writes it, because
/// `UserDefaults` writes in place there, and treats a file that it cannot parse as empty.
///
/// A value has the form of the property list of one element that ``SettingSerializer/propertyList`` writes.
struct UserDefaultsStore: SettingsStore {
    /// The name of the suite. Nil for the app's own defaults.
    let suite: String?

    private static let longest = 64 << 20

    func read(_ name: String) async throws -> StoredValue? {
        let suite = suite
        return try await BlockingPool.shared.run { _ in
            guard let object = try Self.object(name, suite: suite) else { return nil }
            let bytes = try PropertyListSerialization.data(fromPropertyList: [object], format: .binary, options: 0)
            return StoredValue(SerializedValue(serializer: "plist", version: 1, bytes: bytes), updatedAt: 0)
        }
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        #if canImport(Darwin)
        let stored = try await read(name)
        guard let defaults = UserDefaults(suiteName: suite) else { throw Self.unreadable("the suite") }
        switch try body({ stored }, .none) {
        case .keep: return
        case .put(let value):
            let list = try PropertyListSerialization.propertyList(from: value.content.bytes, format: nil)
            defaults.set((list as? [Any])?.first, forKey: name)
        case .remove: defaults.removeObject(forKey: name)
        }
        #else
        throw SettingsError(
            .readOnly,
            message: """
                On Linux, .userDefaults is only a source of migrations and is not written. Move the key to .database.
                """)
        #endif
    }

    #if canImport(Darwin)
    private static func object(_ name: String, suite: String?) throws -> Any? {
        guard let defaults = UserDefaults(suiteName: suite) else { throw unreadable("the suite") }
        return defaults.object(forKey: name)
    }
    #else
    private static func object(_ name: String, suite: String?) throws -> Any? {
        let path = try path(suite)
        guard let folder = try Directory.find((path as NSString).deletingLastPathComponent),
            let file = try folder.findFile((path as NSString).lastPathComponent)
        else { return nil }
        let size = try file.status().byteCount
        guard size <= longest else { throw unreadable(path) }
        let bytes = Data(try file.prefix(Int(size)))
        let list: Any
        do { list = try PropertyListSerialization.propertyList(from: bytes, format: nil) } catch {
            throw unreadable(path)
        }
        guard let values = list as? [String: Any] else { throw unreadable(path) }
        return values[name]
    }

    /// Returns the path of Foundation's file: swift-corelibs-foundation, `CFPreferences.c`.
    private static func path(_ suite: String?) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let name = suite ?? ProcessInfo.processInfo.processName
        guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) else {
            throw SettingsError(.invalidName, message: "The name of a suite must not be empty or contain a slash.")
        }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/\(name).plist" }
        return "\(environment["HOME"] ?? NSHomeDirectory())/.config/\(name).plist"
    }
    #endif

    private static func unreadable(_ place: String) -> SettingsError {
        SettingsError(
            .corrupted,
            message: """
                \(place) cannot be parsed. It is incomplete or not a property list. It is left unchanged. Restore it \
                from a backup.
                """
        )
    }
}
