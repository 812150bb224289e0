public import Foundation

/// The state of the sync with the devices behind one transport. It contains no values.
public struct CompanionStatus: Codable, Sendable, Hashable {
    /// Data of another device that was not accepted, or data of this device that was not published. It is kept where it
    /// is, and tried again in each round.
    public struct Problem: Codable, Sendable, Hashable {
        /// The id of the device.
        public let device: String
        /// The key, or its family. Nil for the whole state of the device.
        public let key: String?
        /// The code of the ``SettingsError``.
        public let code: String
    }

    /// The name of the transport.
    public let transport: String
    /// The time of the last complete round. Nil before the first one.
    public internal(set) var completedAt: Date?
    /// The number of consecutive failures since then.
    public internal(set) var failureCount = 0
    /// The code of the ``SettingsError`` of the last failure. Nil after a success.
    public internal(set) var failure: String?
    /// The message of that error.
    public internal(set) var failureMessage: String?
    /// The problems of the last round, at most 100.
    public internal(set) var problems: [Problem] = []
    /// The number of values of other devices that this app does not know, because of their keys or the versions of
    /// their serializers. They stay published until an app that knows them opens.
    public internal(set) var unknownCount = 0
    /// True if all values were removed since the router was opened. The router then accepts no more values.
    public internal(set) var hasLeft = false

    static let mostProblems = 100

    init(transport: String) { self.transport = transport }
}
