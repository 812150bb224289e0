import Foundation

/// The folders for an app's user-specific files on this platform.
///
/// On Linux these are the folders of the XDG Base Directory Specification 0.8, which accepts only absolute paths. On
/// Apple platforms they are in Library. The folders are not created. Code that uses one creates it for its user only
/// (mode 0700).
public struct StandardLocations: Hashable, Sendable {
    /// The folder for the app's data that belongs in backups: databases with their files.
    public let data: String
    /// The folder for data that can be downloaded or computed again.
    public let cache: String
    /// The folder for data that belongs to this device and not in its backups: ids of the device, root keys, logs.
    public let state: String

    /// Determines the folders of an app.
    ///
    /// - Parameters:
    ///   - app: the name of the app's folder, such as `org.example.recipes`.
    ///   - environment: the variables that contain `XDG_DATA_HOME` and the others. Nil uses those of the process.
    /// - Throws: ``SettingsError/Code/invalidName`` for a name that cannot be a folder name, and
    ///   ``SettingsError/Code/notConfigured`` when neither these variables nor `HOME` contain an absolute path.
    public init(app: String, environment: [String: String]? = nil) throws {
        guard !app.isEmpty, !app.hasPrefix("."), app.utf8.count <= 200,
            !app.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
        else {
            throw SettingsError(
                .invalidName,
                message: "The name of an app's folder must not be empty, contain a slash, or begin with a period.")
        }
        let environment = environment ?? ProcessInfo.processInfo.environment
        func folder(_ variable: String, standard: String) throws -> String {
            if let path = environment[variable], path.hasPrefix("/") { return path + "/" + app }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw SettingsError(
                    .notConfigured,
                    message: """
                        Neither \(variable) nor HOME names a folder by an absolute path. Set one of them for the \
                        service.
                        """)
            }
            return "\(home)/\(standard)/\(app)"
        }
        #if canImport(Darwin)
        data = try folder("", standard: "Library/Application Support")
        cache = try folder("", standard: "Library/Caches")
        state = try folder("", standard: "Library/Application Support") + "/State"
        #else
        data = try folder("XDG_DATA_HOME", standard: ".local/share")
        cache = try folder("XDG_CACHE_HOME", standard: ".cache")
        state = try folder("XDG_STATE_HOME", standard: ".local/state")
        #endif
    }
}
