import Foundation
package import LFSStorage

/// Where AWS's tools look for settings: environment variables, and two files in a home directory.
///
/// Source: "Configuring environment variables for the AWS CLI" in its user guide.
package struct AWSEnvironment: Sendable {
    package var variables: [String: String]
    /// The folder that `~` stands for.
    package var home: String

    package init(variables: [String: String], home: String? = nil) {
        self.variables = variables
        self.home = home ?? variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    }

    /// This process's own.
    package static var process: AWSEnvironment { AWSEnvironment(variables: ProcessInfo.processInfo.environment) }

    /// The value of a variable, without blanks around it; nil when it is not set or empty.
    package subscript(name: String) -> String? {
        variables[name].map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    package var credentialsPath: String { path("AWS_SHARED_CREDENTIALS_FILE") ?? "\(home)/.aws/credentials" }
    package var configPath: String { path("AWS_CONFIG_FILE") ?? "\(home)/.aws/config" }

    /// The settings of a profile: nil for each file that does not know it.
    package struct Profile: Sendable {
        package let name: String
        package let credentials: [String: String]?
        package let config: [String: String]?
        /// The section `services` that the profile names, with settings such as `s3.endpoint_url`.
        package let services: [String: String]?
        /// The section `sso-session` that the profile names.
        package let ssoSession: [String: String]?

        /// A setting: the file `credentials` counts before `config`, as in AWS's tools.
        package subscript(setting: String) -> String? {
            [credentials?[setting], config?[setting]].compactMap(\.self).first { !$0.isEmpty }
        }
    }

    /// The profile of that name, or of `AWS_PROFILE`, or `default`.
    ///
    /// - Throws: ``StorageError/Code/invalidRequest`` when a file cannot be read, or when no file knows a profile that
    ///   was asked for by name.
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
                "There is no profile '\(name)': add [\(name)] to \(credentialsPath) "
                    + "or [profile \(name)] to \(configPath)."
            )
        }
        return profile
    }

    private func path(_ name: String) -> String? {
        self[name].map { $0.hasPrefix("~/") ? home + $0.dropFirst() : $0 }
    }
}
