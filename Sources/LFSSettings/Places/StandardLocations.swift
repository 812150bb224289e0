import Foundation

/// Where an app keeps what is its user's own on this platform.
///
/// On Linux the folders of the XDG Base Directory Specification 0.8, where only absolute paths count; on Apple
/// platforms those in Library. They are named, and not made: who uses one makes it for its user alone (mode 0700).
public struct StandardLocations: Hashable, Sendable {
    /// The data of the app, which belongs into backups: databases with their files.
    public let data: String
    /// What can be had again.
    public let cache: String
    /// What belongs to this device and not into a backup of it: ids of the device, root keys, logs.
    public let state: String

    /// The folders of an app.
    ///
    /// - Parameters:
    ///   - app: the name of the app's folder, such as `org.example.recipes`.
    ///   - environment: where `XDG_DATA_HOME` and the others are looked for; nil for that of the process.
    /// - Throws: ``SettingsError/Code/invalidName`` for a name that is no name of a folder,
    ///   ``SettingsError/Code/notConfigured`` where neither these variables nor `HOME` name an absolute path.
    public init(app: String, environment: [String: String]? = nil) throws {
        guard !app.isEmpty, !app.hasPrefix("."), app.utf8.count <= 200,
            !app.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
        else {
            throw SettingsError(
                .invalidName, "The name of an app's folder is not empty, has no slash and begins with no point.")
        }
        let environment = environment ?? ProcessInfo.processInfo.environment
        func folder(_ variable: String, _ standard: String) throws -> String {
            if let path = environment[variable], path.hasPrefix("/") { return path + "/" + app }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw SettingsError(
                    .notConfigured,
                    "Neither \(variable) nor HOME names a folder by an absolute path. Set one of them for the service.")
            }
            return "\(home)/\(standard)/\(app)"
        }
        #if canImport(Darwin)
        data = try folder("", "Library/Application Support")
        cache = try folder("", "Library/Caches")
        state = try folder("", "Library/Application Support") + "/State"
        #else
        data = try folder("XDG_DATA_HOME", ".local/share")
        cache = try folder("XDG_CACHE_HOME", ".cache")
        state = try folder("XDG_STATE_HOME", ".local/state")
        #endif
    }
}
