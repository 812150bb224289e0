import Foundation
import LFSFiles
import LFSSystem

/// Values of `UserDefaults`. On Linux they are read from Foundation's file and never written: `UserDefaults` there
/// writes in place, and takes a file that it cannot parse for an empty one.
///
/// A value stands for the property list of one element that ``SettingSerializer/propertyList`` writes.
struct UserDefaultsStore: SettingsStore {
    /// The name of the suite; nil for the app's own.
    let suite: String?

    private static let longest = 64 << 20

    func read(_ name: String) async throws -> StoredValue? {
        let suite = suite
        return try await BlockingPool.shared.run { _ in
            guard let object = try Self.object(name, suite) else { return nil }
            let bytes = try PropertyListSerialization.data(fromPropertyList: [object], format: .binary, options: 0)
            return StoredValue(SerializedValue(serializer: "plist", version: 1, bytes: bytes), updatedAt: 0)
        }
    }

    func update(
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
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
            "On Linux .userDefaults is a source of migrations and is not written. Move the key to .database.")
        #endif
    }

    /// The names are the app's own and the system's, and none of ours.
    func summaries() async throws -> [StoredSummary] { [] }

    func stamp(of name: String) async throws -> String? { nil }

    func removeAll() async throws {}

    #if canImport(Darwin)
    private static func object(_ name: String, _ suite: String?) throws -> Any? {
        guard let defaults = UserDefaults(suiteName: suite) else { throw unreadable("the suite") }
        return defaults.object(forKey: name)
    }
    #else
    private static func object(_ name: String, _ suite: String?) throws -> Any? {
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

    /// Where Foundation has it: swift-corelibs-foundation, `CFPreferences.c`.
    private static func path(_ suite: String?) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let name = suite ?? ProcessInfo.processInfo.processName
        guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) else {
            throw SettingsError(.invalidName, "The name of a suite has no slash.")
        }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/\(name).plist" }
        return "\(environment["HOME"] ?? NSHomeDirectory())/.config/\(name).plist"
    }
    #endif

    private static func unreadable(_ place: String) -> SettingsError {
        SettingsError(
            .corrupted,
            "\(place) cannot be parsed: it is torn, or no property list. It stays as it is: put it back from a backup.")
    }
}
