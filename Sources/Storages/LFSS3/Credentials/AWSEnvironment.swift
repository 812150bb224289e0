import Foundation
package import LFSStorage

/// The places where AWS's tools look for settings: environment variables, and two files in the home directory.
///
/// Source: "Configuring environment variables for the AWS CLI" in its user guide.
package struct AWSEnvironment: Sendable {
    package var variables: [String: String]
    /// The home directory, which replaces `~` in paths.
    package var home: String

    package init(variables: [String: String], home: String? = nil) {
        self.variables = variables
        self.home = home ?? variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    }

    /// The environment of this process.
    package static var process: AWSEnvironment { AWSEnvironment(variables: ProcessInfo.processInfo.environment) }

    /// The value of a variable without surrounding whitespace. nil if it is unset or empty.
    package subscript(name: String) -> String? {
        variables[name].map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    package var credentialsPath: String { path("AWS_SHARED_CREDENTIALS_FILE") ?? "\(home)/.aws/credentials" }
    package var configPath: String { path("AWS_CONFIG_FILE") ?? "\(home)/.aws/config" }

    /// The settings of a profile. Each part is nil if its file does not contain the profile.
    package struct Profile: Sendable {
        package let name: String
        package let credentials: [String: String]?
        package let config: [String: String]?
        /// The section `services` that the profile names, with settings such as `s3.endpoint_url`.
        package let services: [String: String]?
        /// The section `sso-session` that the profile names.
        package let ssoSession: [String: String]?

        /// The value of a setting. As in AWS's tools, the file `credentials` takes precedence over `config`.
        package subscript(setting: String) -> String? {
            [credentials?[setting], config?[setting]].compactMap(\.self).first { !$0.isEmpty }
        }
    }

    /// Returns the profile with that name. Without a name, it uses `AWS_PROFILE`, and otherwise `default`.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest`` when a file cannot be read, or when no file contains a profile
    ///   that was requested by name.
    package func profile(_ name: String?) throws(StorageError) -> Profile {
        let asked = name ?? self["AWS_PROFILE"]
        let name = asked ?? "default"
        let credentials = try ProfileFile(path: credentialsPath)
        let config = try ProfileFile(path: configPath)
        let plain = name == "default" ? config?["default"] : nil
        let settings = config?["profile \(name)"] ?? plain
        let services = settings?["services"].flatMap { config?["services \($0)"] }
        let session = settings?["sso_session"].flatMap { config?["sso-session \($0)"] }
        let profile = Profile(
            name: name, credentials: credentials?[name], config: settings, services: services, ssoSession: session)
        if asked != nil, profile.credentials == nil, profile.config == nil {
            throw StorageError(
                .invalidRequest,
                message: "There is no profile '\(name)': add [\(name)] to \(credentialsPath) "
                    + "or [profile \(name)] to \(configPath)."
            )
        }
        return profile
    }

    private func path(_ name: String) -> String? {
        self[name].map { $0.hasPrefix("~/") ? home + $0.dropFirst() : $0 }
    }
}
