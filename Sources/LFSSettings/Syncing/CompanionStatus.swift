public import Foundation

/// How it stands with the devices that one transport leads to. Of values it has none.
public struct CompanionStatus: Codable, Sendable, Hashable {
    /// Something of another device that was not taken, or of this one that was not published. It stays where it is, and
    /// is looked at again each time.
    public struct Problem: Codable, Sendable, Hashable {
        /// The id of the device.
        public let device: String
        /// The key, or its family; nil for all that the device has published.
        public let key: String?
        /// The code of the ``SettingsError``.
        public let code: String
    }

    /// The name of the transport.
    public let transport: String
    /// When all was read and published for the last time; nil before the first time.
    public internal(set) var completedAt: Date?
    /// How often in a row it has failed since.
    public internal(set) var failureCount = 0
    /// The code of the ``SettingsError`` that it failed with last; nil after a success.
    public internal(set) var failure: String?
    /// What that error says.
    public internal(set) var failureMessage: String?
    /// What was not taken, or not published, the last time; a hundred of them at most.
    public internal(set) var problems: [Problem] = []
    /// How many values of other devices this app does not know: their keys, or the versions of their serializers. They
    /// stay where they are until an app that knows them opens.
    public internal(set) var unknownCount = 0
    /// Whether everything was removed since the router was opened: it takes nothing any more.
    public internal(set) var hasLeft = false

    static let mostProblems = 100

    init(transport: String) { self.transport = transport }
}
