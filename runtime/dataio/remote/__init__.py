"""Far files: `s3://` objects, fetched by a few Python threads through boto3 for the native threads that decode.

address    an `s3://bucket/key` in its parts
client     the process's boto3 client: endpoint, region, credentials
retry      how long to wait before the next try, and when to give up
meaning    what a failure of S3 means: try again, or which diagnostic
transfer   one range, continued at the same byte of the same version
persist    the loop of tries around it
worker     the threads that do so for a loader
"""
