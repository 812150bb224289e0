import Foundation
import LFSSystem
public import Logging

/// What a router needs beside its database and its catalogs.
public struct StorageOptions: Sendable {
    /// The version of the app that runs, such as `2.4.0`: migrations may ask for the one that has written the data. Nil
    /// leaves that unknown.
    public var appVersion: String?
    /// The source of the key behind encrypted keys; needed when a catalog has one.
    public var rootKey: KeySource?
    /// Where secrets of the domain `.keychain` are; needed when a catalog has one. No other takes its place.
    public var keychain: KeychainBackend?
    /// How often a router that runs looks for changes of other processes.
    public var pollInterval: Duration
    /// How settings go to the user's other devices, and theirs come here.
    public var companions: CompanionOptions
    /// Takes what concerns no call of the app. It gets no value and no key.
    public var logger: Logger?
    package var clock: any Clock<Duration> = ContinuousClock()
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64

    /// Options; every one has a default.
    ///
    /// - Parameters:
    ///   - appVersion: the version of the app that runs.
    ///   - rootKey: the source of the key behind encrypted keys.
    ///   - keychain: where secrets of the domain `.keychain` are.
    ///   - pollInterval: how often to look for changes of other processes; at least 10 ms, and less counts as that.
    ///   - companions: the ways to the user's other devices.
    ///   - logger: takes what concerns no call of the app.
    public init(
        appVersion: String? = nil, rootKey: KeySource? = nil, keychain: KeychainBackend? = nil,
        pollInterval: Duration = .seconds(1), companions: CompanionOptions = CompanionOptions(), logger: Logger? = nil
    ) {
        (self.appVersion, self.rootKey, self.keychain) = (appVersion, rootKey, keychain)
        (self.pollInterval, self.logger) = (max(pollInterval, .milliseconds(10)), logger)
        self.companions = companions
        now = { Date().millisecondsSince1970 }
    }
}
