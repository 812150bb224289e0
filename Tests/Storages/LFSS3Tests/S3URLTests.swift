import Foundation
import LFSStorage
import Testing

@testable import LFSS3

@Suite("Bucket URLs")
struct S3URLTests {
    @Test("An S3 URL sets the bucket, the prefix and options, including AWS names")
    func whole() throws {
        let url = try S3URL(
            parsing: "s3://photos/a%20b/c?endpoint-url=http://127.0.0.1:8333&region=r&addressing_style=auto"
                + "&provider=seaweedfs&profile=p&Storage-Class=GLACIER")
        #expect(url.bucket == "photos" && url.prefix == "a b/c")
        #expect(url.endpoint?.absoluteString == "http://127.0.0.1:8333")
        #expect(url.region == "r" && url.profile == "p" && url.storageClass == "GLACIER")
        #expect(url.addressing == .automatic && url.provider?.name == "seaweedfs")
        let bare = try S3URL(parsing: "s3://photos")
        #expect(bare.prefix.isEmpty && bare.endpoint == nil && bare.region == nil && bare.addressing == .automatic)
    }

    @Test(
        "An invalid S3 URL is refused with a hint",
        arguments: [
            ("s3:photos", "Write s3://"), ("az://photos", "Write s3://"), ("s3://", "names no bucket"),
            ("s3://b/../c", "plain path"), ("s3://b//c", "plain path"), ("s3://b/%zz", "%25"),
            ("s3://b?colour=red", "endpoint, region"), ("s3://b?region", "name=value"),
            ("s3://b?region=", "name=value"), ("s3://b?region=a&Region=b", "twice"),
            ("s3://b?addressing=round", "path"), ("s3://b?endpoint=ftp://h", "https://host"),
            ("s3://b?endpoint=https://h?x", "'?'"), ("s3://b?endpoint=https://h/a%252fb", "encoded slash"),
        ])
    func wrong(text: String, advice: String) {
        let error = #expect(throws: StorageError.self) { try S3URL(parsing: text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    @Test(
        "An S3 URL with a secret is refused, and the error does not repeat it",
        arguments: [
            "s3://AKIA:S3CR3T@b", "s3://AKIA:S3C/R3T@b", "s3://AKIA:S3CR3T", "s3://b?endpoint=https://AKIA:S3CR3T@h",
            "s3://b?endpoint=https://AKIA:S3CR3T%40h",
        ])
    func secret(text: String) {
        let error = #expect(throws: StorageError.self) { try S3URL(parsing: text) }
        #expect(error?.message.contains("AWS_SECRET_ACCESS_KEY") == true)
        for part in ["AKIA", "S3CR3T", "R3T"] where error?.message.contains(part) != false {
            Issue.record("\(error?.message ?? "nothing")")
        }
    }

    @Test("An S3 URL opens the bucket with the endpoint of the environment")
    func environment() throws {
        let variables = ["AWS_ENDPOINT_URL_S3": "http://localhost:9000", "HOME": "/nowhere"]
        let storage = try S3Storage(try S3URL(parsing: "s3://photos/p"), environment: variables)
        #expect(storage.capabilities.location == "s3:localhost:9000/photos/p/")
        let other = try S3Storage(
            try S3URL(parsing: "s3://photos?endpoint=https://minio.example"), environment: variables)
        #expect(other.capabilities.location == "s3:minio.example/photos/")
    }

    @Test("Plain HTTP must be explicit in an S3 URL, or lead to this machine")
    func plainHTTP() throws {
        _ = try S3Storage(try S3URL(parsing: "s3://photos?endpoint=http://minio.example"), environment: [:])
        #expect(throws: StorageError.self) {
            try S3Storage(
                try S3URL(parsing: "s3://photos"), environment: ["AWS_ENDPOINT_URL": "http://minio.example"])
        }
    }
}
