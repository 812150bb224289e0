import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

/// Replies of a storage are untrusted input.
@Suite("Fuzzed S3 replies", .timeLimit(.minutes(20)))
struct S3ReplyFuzzTests {
    private static let samples = [
        """
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><KeyCount>2</KeyCount>\
        <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
        <NextContinuationToken>1ueG/+=</NextContinuationToken>\
        <Contents><Key>a/caf%C3%A9+1</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>\
        <ETag>"fba9dede5f27731c9771645a39863328-3"</ETag><Size>434234</Size></Contents></ListBucketResult>
        """,
        """
        <ListPartsResult><UploadId>u</UploadId><NextPartNumberMarker>3</NextPartNumberMarker>\
        <IsTruncated>true</IsTruncated><Part><PartNumber>2</PartNumber><ETag>"new"</ETag><Size>20</Size>\
        <ChecksumSHA256>s=</ChecksumSHA256></Part></ListPartsResult>
        """,
        """
        <ListMultipartUploadsResult><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker>\
        <IsTruncated>true</IsTruncated><Upload><Key>k</Key><UploadId>u1</UploadId>\
        <Initiated>2010-11-10T20:48:33.000Z</Initiated></Upload></ListMultipartUploadsResult>
        """,
        "<Error><Code>NoSuchKey</Code><Message>No &lt;such&gt; key</Message><RequestId>4442</RequestId></Error>",
        "<InitiateMultipartUploadResult><Key>k</Key><UploadId>VXBsb2Fk</UploadId></InitiateMultipartUploadResult>",
        """
        <CompleteMultipartUploadResult><ETag>&quot;3858f62230ac3c915f300c664312c11f-9&quot;</ETag>\
        <ChecksumSHA256>abc=-9</ChecksumSHA256></CompleteMultipartUploadResult>
        """,
    ]

    @Test("Random S3 replies are parsed or refused and have no negative sizes")
    func replies() {
        var read = 0
        for bytes in FuzzedInputs(Self.samples) {
            if let reply = try? ListObjectsReply(bytes) {
                read += 1
                #expect(reply.objects.allSatisfy { $0.byteCount >= 0 })
            }
            if let reply = try? ListPartsReply(bytes) {
                read += 1
                #expect(reply.parts.allSatisfy { $0.byteCount >= 0 })
            }
            read += (try? ListUploadsReply(bytes)) == nil ? 0 : 1
            read += (try? ErrorReply(bytes)) == nil ? 0 : 1
            read += (try? CreateMultipartReply(bytes)) == nil ? 0 : 1
            read += (try? CompleteMultipartReply(bytes)) == nil ? 0 : 1
        }
        #expect(read > 0)
    }
}
