import Foundation
import LFSSystem
public import Logging

/// The options of a router, in addition to its database and catalogs.
public struct StorageOptions: Sendable {
    /// The version of the running app, such as `2.4.0`. Migrations can depend on the version that has written the data.
    /// With nil the version is unknown.
    public var appVersion: String?
    /// The source of the root key for encrypted keys. Required when a catalog has an encrypted key.
    public var rootKey: KeySource?
    /// The store for secrets of the domain `.keychain`. Required when a catalog has such a key. No other store replaces
    /// it.
    public var keychain: KeychainBackend?
    /// The interval at which a running router looks for changes of other processes. The initializer raises shorter
    /// intervals than 10 ms to that.
    public var pollInterval: Duration
    /// The exchange of settings with the user's other devices.
    public var companions: CompanionOptions
    /// Receives messages that are not tied to a call. Values and keys are never logged.
    public var logger: Logger?
    package var clock: any Clock<Duration> = ContinuousClock()
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64

    /// Creates options. Every option has a default.
    public init(
        appVersion: String? = nil, rootKey: KeySource? = nil, keychain: KeychainBackend? = nil,
        pollInterval: Duration = .seconds(1), companions: CompanionOptions = CompanionOptions(), logger: Logger? = nil
    ) {
        self.appVersion = appVersion
        self.rootKey = rootKey
        self.keychain = keychain
        self.pollInterval = max(pollInterval, .milliseconds(10))
        self.logger = logger
        self.companions = companions
        now = { Date().millisecondsSince1970 }
    }
}
