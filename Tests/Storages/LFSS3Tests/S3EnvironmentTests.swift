import Foundation
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

@Suite("Environment variables and profiles") struct S3EnvironmentTests {
    private func resolve(
        _ variables: [String: String], config: String = "", profile: String? = nil
    ) async throws -> S3Environment {
        var result: S3Environment?
        try await withTemporaryFolder { folder in
            try Data(config.utf8).write(to: folder.child("config"))
            let variables = variables.merging(["AWS_CONFIG_FILE": folder.child("config").path, "HOME": folder.path]) {
                $1
            }
            result = try S3Environment.resolve(profile: profile, environment: variables)
        }
        return try #require(result)
    }

    private static let config = """
        [default]
        region = from-default
        endpoint_url = http://default:1
        ca_bundle = /default.pem
        [profile work]
        region = from-work
        endpoint_url = https://work/storage/v1/s3
        """

    @Test func namesTheRegionBeforeTheProfileDoes() async throws {
        #expect(try await resolve([:], config: Self.config).region == "from-default")
        #expect(try await resolve([:], config: Self.config, profile: "work").region == "from-work")
        #expect(try await resolve(["AWS_PROFILE": "work"], config: Self.config).region == "from-work")
        #expect(try await resolve(["AWS_DEFAULT_REGION": "b"], config: Self.config).region == "b")
        #expect(try await resolve(["AWS_DEFAULT_REGION": "b", "AWS_REGION": "a"], config: Self.config).region == "a")
        #expect(try await resolve(["AWS_REGION": ""], config: Self.config).region == "from-default")
    }

    @Test func namesTheEndpointBeforeTheProfileDoes() async throws {
        func endpoint(_ variables: [String: String], profile: String? = nil) async throws -> String? {
            try await resolve(variables, config: Self.config, profile: profile).endpoint?.absoluteString
        }
        #expect(try await endpoint([:]) == "http://default:1")
        #expect(try await endpoint([:], profile: "work") == "https://work/storage/v1/s3")
        #expect(try await endpoint(["AWS_ENDPOINT_URL": "http://a"]) == "http://a")
        #expect(try await endpoint(["AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"]) == "http://b")
        #expect(
            try await endpoint(["AWS_ENDPOINT_URL_S3": "http://b", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "True"])
                == nil)
        #expect(try await endpoint(["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"]) == "http://default:1")
    }

    @Test("A profile's service section sets the S3 endpoint before the profile itself")
    func services() async throws {
        let config = """
            [profile work]
            endpoint_url = https://everything
            services = local
            [profile other]
            services = missing
            endpoint_url = https://other
            [services local]
            dynamodb =
              endpoint_url = https://tables
            s3 =
              # as its manual says
              endpoint_url = https://objects:9000
              signature_version = s3v4
            region = none
            """
        func endpoint(_ variables: [String: String], profile: String) async throws -> String? {
            try await resolve(variables, config: config, profile: profile).endpoint?.absoluteString
        }
        #expect(try await endpoint([:], profile: "work") == "https://objects:9000")
        #expect(try await endpoint(["AWS_ENDPOINT_URL": "http://a"], profile: "work") == "http://a")
        #expect(try await endpoint(["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"], profile: "work") == nil)
        #expect(try await endpoint([:], profile: "other") == "https://other")
    }

    @Test func namesTheCertificates() async throws {
        #expect(try await resolve([:], config: Self.config).caBundle == "/default.pem")
        #expect(try await resolve(["AWS_CA_BUNDLE": "/a.pem"], config: Self.config).caBundle == "/a.pem")
    }

    @Test func mayBeEmpty() async throws {
        #expect(try await resolve([:]) == S3Environment())
    }

    @Test func thatNamesAMissingProfileIsAnError() async throws {
        let error = await #expect(throws: StorageError.self) { try await resolve(["AWS_PROFILE": "gone"]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("'gone'") == true)
    }

    @Test(arguments: ["example.org", "ftp://h", "https://u:HUSH@h", "https://h/?q=HUSH", "https://", "h:9000"])
    func thatNamesNoServerIsAnErrorThatDoesNotShowTheText(_ text: String) async throws {
        let error = await #expect(throws: StorageError.self) { try await resolve(["AWS_ENDPOINT_URL": text]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("AWS_ENDPOINT_URL") == true)
        #expect(error?.message.contains("HUSH") == false)
    }
}
