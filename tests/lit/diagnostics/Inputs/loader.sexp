(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4]) (field :label :dtype :i32)] ; allow W-CONTRACT-026
          :batch-size 8
          :infinite true))
